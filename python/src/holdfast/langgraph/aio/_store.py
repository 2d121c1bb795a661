from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable

from langgraph.store.base import GetOp, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp, TTLConfig, validate_op_namespace

from ..._json_values import require_json
from ...aio import AsyncHoldfast
from ...errors import invalid_input
from ...results import StateEntry
from .._items import StoredItem, fits, item_in, known_prefix, matches
from .._keys import after_items, item_key, items_prefix, namespace_of
from ._bridge import AsyncStoreBridge
from ._contents import AsyncContents

_PAGE = 100
_TTL_MINUTES_MAX = 10 * 365 * 24 * 60.0


class AsyncHoldfastStore(AsyncStoreBridge):
    """LangGraph's long-term memory in a Holdfast store. Items expire, exactly, after their time to live; reading one begins it again.

    A search goes through the items below its namespace in the order of their keys, and stops where the page is full. Its `query` is ignored, as by LangGraph's
    own stores without an index."""

    supports_ttl = True

    def __init__(self, client: AsyncHoldfast, *, ttl: TTLConfig | None = None) -> None:
        super().__init__()
        self.ttl_config = ttl
        self._client = client
        self._contents = AsyncContents(client)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        results: list[Result] = []
        for op in ops:
            validate_op_namespace(op)
            if isinstance(op, GetOp):
                entry = await self._client.state.get(item_key(op.namespace, op.key))
                stored = None if entry is None else await self._item(entry)
                if entry is not None and stored is not None and op.refresh_ttl:
                    await self._refresh(entry, stored)
                results.append(None if stored is None else stored.item())
            elif isinstance(op, PutOp):
                await self._put(op)
                results.append(None)
            elif isinstance(op, SearchOp):
                results.append(await self._search(op))
            elif isinstance(op, ListNamespacesOp):
                results.append(await self._list_namespaces(op))
            else:
                raise invalid_input("ops", f"must be operations of LangGraph's store; one is a {type(op).__name__}")
        return results

    async def _put(self, op: PutOp) -> None:
        key = item_key(op.namespace, op.key)
        if op.value is None:
            await self._client.state.delete(key)
            return
        if op.ttl is not None and not 0 < op.ttl <= _TTL_MINUTES_MAX:
            raise invalid_input("ttl", f"must be more than 0 and at most {_TTL_MINUTES_MAX:.0f} minutes")
        require_json(dict(op.value), "value")
        now = time.time()
        before = await self._client.state.get(key)
        created_at = now if before is None else (await self._item(before)).created_at
        await self._write(key, StoredItem(tuple(op.namespace), op.key, dict(op.value), created_at, now, op.ttl))

    async def _write(self, key: str, item: StoredItem, version: int | None = None) -> None:
        value, blobs = await self._contents.fold(item.to_json(), ())
        ttl = None if item.ttl is None else item.ttl * 60
        await self._client.state.set(key, value, ttl=ttl, blobs=blobs or None, expected_version=version)

    async def _refresh(self, entry: StateEntry, item: StoredItem) -> None:
        if item.ttl is not None:
            # A refusal means that the item was changed meanwhile, which began its time again.
            await self._write(entry.key, item, entry.version)

    async def _item(self, entry: StateEntry) -> StoredItem:
        return item_in(await self._contents.unfold(entry.value))

    async def _search(self, op: SearchOp) -> list[SearchItem]:
        if op.limit < 0 or op.offset < 0:
            raise invalid_input("limit", "limit and offset must not be negative")
        found: list[SearchItem] = []
        skipped = 0
        async for entry in self._entries(items_prefix(op.namespace_prefix)):
            if len(found) == op.limit:
                break
            item = await self._item(entry)
            if not fits(item.value, op.filter):
                continue
            if skipped < op.offset:
                skipped += 1
                continue
            if op.refresh_ttl:
                await self._refresh(entry, item)
            found.append(item.search_item())
        return found

    async def _entries(self, prefix: str) -> AsyncIterator[StateEntry]:
        after: str | None = None
        while True:
            page = await self._client.state.list(prefix=prefix, limit=_PAGE, after=after)
            for entry in page.entries:
                yield entry
            if not page.more or not page.entries:
                return
            after = page.entries[-1].key

    async def _list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        found: set[tuple[str, ...]] = set()
        after: str | None = None
        while True:
            page = await self._client.state.list(prefix=items_prefix(known_prefix(conditions)), limit=_PAGE, after=after, values=False)
            namespaces = [namespace_of(entry.key) for entry in page.entries]
            found.update(each[: op.max_depth] for each in namespaces if all(matches(each, condition) for condition in conditions))
            if not page.more or not namespaces:
                break
            # The rest of this namespace says nothing new.
            after = after_items(namespaces[-1])
        return sorted(found)[op.offset : op.offset + op.limit]
