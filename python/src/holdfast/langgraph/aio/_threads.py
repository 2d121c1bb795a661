from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any

from ...aio import AsyncHoldfast
from ...errors import HoldfastError
from ...results import CommitWrite, DeleteWrite, SetWrite, StateCommitted, StateEntry, VersionConflict
from .._keys import after_writes, age_of, checkpoint_key, checkpoint_key_in, checkpoints_prefix, claimed_key, run_key, run_prefix, write_key
from .._ownership import ThreadNotOwned
from .._records import REPLACED, CheckpointRecord, TaskWrites, by_task, checkpoint_in, task_writes_in
from ._claim import AsyncThreadClaim
from ._contents import AsyncContents

FoundCheckpoint = tuple[CheckpointRecord, Sequence[TaskWrites]]
"""A checkpoint with the writes of its tasks, in the order in which LangGraph applies them."""

# Mostly the newest checkpoint, its few writes and the one before it.
_FIRST_PAGE = 4
_PAGE = 100
_KEYS_PAGE = 1_000
_COMMIT_WRITES = 100


class AsyncThreads:
    """The stored threads: checkpoints and the writes of their tasks. Every commit carries the thread's ownership."""

    def __init__(self, client: AsyncHoldfast, ttl: float | None) -> None:
        self.client = client
        self.contents = AsyncContents(client)
        self._ttl = ttl
        self.claims: dict[str, AsyncThreadClaim] = {}

    async def put(self, record: CheckpointRecord) -> None:
        place = (record.thread, record.ns, record.id)
        writes = [await self._set(checkpoint_key(*place), record.to_json(), record.blobs)]
        if record.run is not None:
            writes.append(await self._set(run_key(record.run, *place), {"thread": record.thread, "ns": record.ns, "id": record.id}))
        await self._commit(record.thread, writes)

    async def put_writes(self, thread: str, ns: str, checkpoint_id: str, given: TaskWrites) -> None:
        writes = []
        ordinary: str | None = None
        for slot, each in given.by_slot():
            key = write_key(thread, ns, checkpoint_id, given.task, slot)
            ordinary = ordinary if slot.startswith(REPLACED) else key
            writes.append(await self._set(key, each.to_json(), each.blobs))
        conflict = await self._commit(thread, writes, absent=ordinary)
        if conflict is not None:
            # The task's ordinary writes are there already, and the first ones count.
            await self._commit(thread, [write for write in writes if write.key != ordinary])

    async def get(self, thread: str, ns: str, checkpoint_id: str | None) -> FoundCheckpoint | None:
        prefix = checkpoints_prefix(thread, ns) if checkpoint_id is None else checkpoint_key(thread, ns, checkpoint_id)
        return await self._first(prefix)

    async def _first(self, prefix: str) -> FoundCheckpoint | None:
        async for found in self._found(prefix, page=_FIRST_PAGE):
            return found
        return None

    async def list(
        self, thread: str | None, ns: str | None, only: str | None, before: str | None, page: int = _PAGE
    ) -> AsyncIterator[FoundCheckpoint]:
        """Newest first; of all threads, thread by thread. `only`: the checkpoint of this id."""

        def is_wanted(found: FoundCheckpoint) -> bool:
            return (only is None or found[0].id == only) and (before is None or found[0].id < before)

        if thread is not None and (ns is None or only is not None):
            # Without a namespace they are merged by age: the keys are read first, then each checkpoint when its turn comes.
            keys = await self._checkpoint_keys(thread) if ns is None or only is None else [checkpoint_key(thread, ns, only)]
            for key in keys:
                found = await self._first(key)
                if found is not None and is_wanted(found):
                    yield found
            return
        after = None if thread is None or ns is None or before is None else after_writes(checkpoint_key(thread, ns, before))
        async for found in self._found(checkpoints_prefix(thread, ns), after=after, page=page):
            if is_wanted(found):
                yield found

    async def _checkpoint_keys(self, thread: str) -> Sequence[str]:
        """Newest first, in whichever namespace."""
        keys = {checkpoint_key_in(entry.key) async for entry in self._entries(checkpoints_prefix(thread), values=False)}
        return sorted(keys, key=age_of)

    async def _found(self, prefix: str, *, after: str | None = None, page: int | None = None) -> AsyncIterator[FoundCheckpoint]:
        record: CheckpointRecord | None = None
        key = ""
        writes: list[TaskWrites] = []
        async for entry in self._entries(prefix, after=after, page=page):
            place = checkpoint_key_in(entry.key)
            if place == entry.key:
                if record is not None:
                    yield record, by_task(writes)
                record, key, writes = checkpoint_in(await self.contents.unfold(entry.value)), place, []
            elif place == key:
                writes.append(task_writes_in(await self.contents.unfold(entry.value), entry.revision))
        if record is not None:
            yield record, by_task(writes)

    async def delete_thread(self, thread: str) -> None:
        checkpoints: dict[str, list[str]] = {}
        async for entry in self._entries(checkpoints_prefix(thread)):
            # Writes may be there without their checkpoint: they are stored side by side with it.
            keys = checkpoints.setdefault(checkpoint_key_in(entry.key), [])
            keys.append(entry.key)
            if checkpoint_key_in(entry.key) == entry.key:
                record = checkpoint_in(await self.contents.unfold(entry.value))
                keys += [] if record.run is None else [run_key(record.run, record.thread, record.ns, record.id)]
        # The oldest first: what is left when this is interrupted still ends with the newest.
        await self._delete_keys(thread, [key for keys in reversed(checkpoints.values()) for key in keys])

    async def delete_run(self, run: str) -> None:
        places: list[Any] = [entry.value async for entry in self._entries(run_prefix(run))]
        found = [await self.get(each["thread"], each["ns"], each["id"]) for each in places]
        # One that was stored again by another run belongs to that one now.
        await self._delete([each[0] for each in found if each is not None and each[0].run == run])
        for each in places:
            await self._delete_keys(each["thread"], [run_key(run, each["thread"], each["ns"], each["id"])])

    async def keep_latest(self, thread: str, needed_by: Callable[[CheckpointRecord], Iterable[str]]) -> None:
        """Of each namespace the newest checkpoint, and those before it that its value of a channel is built from: `needed_by(record)` names the channels."""
        doomed: list[CheckpointRecord] = []
        ns: str | None = None
        parent: str | None = None
        needed: set[str] = set()
        async for record, _ in self._found(checkpoints_prefix(thread)):
            is_newest = record.ns != ns
            if is_newest:
                ns, needed = record.ns, set(needed_by(record))
            elif not needed or record.id != parent:
                doomed.append(record)
                continue
            else:
                needed -= record.channels.keys()
            parent = record.parent
        await self._delete(doomed)

    async def copy(self, source: str, target: str) -> None:
        """The oldest first, and the writes of each checkpoint before it: what is left when this is interrupted is a shorter thread, not a torn one."""
        for key in reversed(await self._checkpoint_keys(source)):
            found = await self._first(key)
            if found is None:
                continue
            record, tasks = found
            for writes in tasks:
                await self.put_writes(target, record.ns, record.id, writes)
            await self.put(dataclasses.replace(record, thread=target))

    async def _delete(self, records: Sequence[CheckpointRecord]) -> None:
        for record in sorted(records, key=lambda each: each.id):
            place = (record.thread, record.ns, record.id)
            keys = [checkpoint_key(*place), *([] if record.run is None else [run_key(record.run, *place)])]
            keys += [entry.key async for entry in self._entries(f"{checkpoint_key(*place)}/", values=False)]
            await self._delete_keys(record.thread, keys)

    async def _delete_keys(self, thread: str, keys: Sequence[str]) -> None:
        for start in range(0, len(keys), _COMMIT_WRITES):
            await self._commit(thread, [DeleteWrite(key=key) for key in keys[start : start + _COMMIT_WRITES]])

    async def _commit(self, thread: str, writes: Sequence[CommitWrite], absent: str | None = None) -> VersionConflict | None:
        """Refused as a whole where another worker owns the thread. Returns the conflict where `absent` is there already."""
        if not writes:
            return None
        claim = self.claims.get(thread)
        expected = {} if absent is None else {absent: 0}
        try:
            if claim is not None:
                result = await self.client.state.commit(writes, expected=expected, leases=[claim.lease])
            else:
                result = await self.client.state.commit(writes, expected={**expected, claimed_key(thread): 0})
        except HoldfastError as error:
            if error.code == "lease_lost":
                raise ThreadNotOwned(thread, was_ours=True) from error
            raise
        if isinstance(result, StateCommitted):
            return None
        if any(each.key == claimed_key(thread) for each in result.conflicts):
            raise ThreadNotOwned(thread, was_ours=False)
        return result.conflicts[0]

    async def _set(self, key: str, value: Mapping[str, Any], blobs: Sequence[str] = ()) -> SetWrite:
        folded, names = await self.contents.fold(value, blobs)
        return SetWrite(key=key, value=folded, ttl=self._ttl, blobs=names or None)

    async def _entries(self, prefix: str, *, values: bool = True, after: str | None = None, page: int | None = None) -> AsyncIterator[StateEntry]:
        size = page or (_PAGE if values else _KEYS_PAGE)
        while True:
            found = await self.client.state.list(prefix=prefix, limit=size, after=after, values=values)
            for entry in found.entries:
                yield entry
            if not found.more or not found.entries:
                return
            after = found.entries[-1].key
            size = _PAGE if values else _KEYS_PAGE
