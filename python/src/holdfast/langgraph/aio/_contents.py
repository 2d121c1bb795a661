from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from ...aio import AsyncHoldfast
from .._records import Stored, Typed

INLINE_BYTES_MAX = 8_192
"""A longer value is a blob, stored once for all checkpoints that have it."""
BODY_BYTES_MAX = 524_288
"""A longer record is a blob as a whole."""
_BLOBS_MAX = 24
"""So that a commit of several records stays below the number of blobs that one may name; what is more stays inline."""
_KEPT_BYTES_MAX = 33_554_432


class AsyncContents:
    """Long values as blobs. Content never changes under its hash, so what was read or stored last is kept in memory."""

    def __init__(self, client: AsyncHoldfast) -> None:
        self._client = client
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._kept_bytes = 0
        self._keeping = threading.Lock()

    async def store(self, values: Mapping[Any, Typed]) -> dict[Any, Stored]:
        """Durable when it returns; a commit has to name the blobs soon."""
        long = [name for name, (_, data) in values.items() if len(data) > INLINE_BYTES_MAX]
        chosen = set(sorted(long, key=lambda name: -len(values[name][1]))[:_BLOBS_MAX])
        stored = {}
        for name, (kind, data) in values.items():
            stored[name] = Stored(kind, None, await self._put(data)) if name in chosen else Stored(kind, data, None)
        return stored

    async def load(self, stored: Stored) -> Typed:
        if stored.blob is None:
            return stored.kind, stored.data or b""
        return stored.kind, await self._get(stored.blob)

    async def fold(self, value: Mapping[str, Any], names: Iterable[str]) -> tuple[Mapping[str, Any], list[str]]:
        """What to store in an entry, and the blobs that it names."""
        blobs = list(dict.fromkeys(names))
        text = json.dumps(value, separators=(",", ":"))
        if len(text) <= BODY_BYTES_MAX:
            return value, blobs
        body = await self._put(text.encode())
        return {"body": body}, [body, *(each for each in blobs if each != body)]

    async def unfold(self, value: Any) -> Any:
        return json.loads(await self._get(value["body"])) if "body" in value else value

    async def _put(self, data: bytes) -> str:
        ref = await self._client.blobs.put(data)
        self._keep(ref.hash, data)
        return ref.hash

    async def _get(self, name: str) -> bytes:
        kept = self._kept.get(name)
        if kept is None:
            kept = await self._client.blobs.get(name)
            self._keep(name, kept)
        return kept

    def _keep(self, name: str, data: bytes) -> None:
        # Threads share a saver. Nothing is awaited under the lock.
        with self._keeping:
            if name in self._kept or len(data) > _KEPT_BYTES_MAX // 4:
                return
            self._kept[name] = data
            self._kept_bytes += len(data)
            while self._kept_bytes > _KEPT_BYTES_MAX:
                self._kept_bytes -= len(self._kept.popitem(last=False)[1])
