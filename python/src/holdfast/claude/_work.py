from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..aio import AsyncHoldfast
from ..errors import HoldfastError
from ..results import DeleteWrite, LeaseRef
from ._hold import LEASE_ATTEMPTS_MAX, SessionHold, SessionTakenOver
from ._keys import SessionKeys
from ._text import to_lines, too_large
from ._transcript import Batch, Fold, Transcript

# Batches that could not be stored yet, of one session.
_BACKLOG_CHARACTERS_MAX = 134_217_728
_DELETED_KEYS_MAX = 100


@dataclass
class _Waiting:
    batch: Batch
    subpath: str | None
    characters: int


class WorkSession:
    """One session, as one store works on it: its lease, its transcripts and the batches that are not stored yet. Its operations run one after another."""

    def __init__(
        self, client: AsyncHoldfast, keys: SessionKeys, fold: Fold | None, *, holder: str, ttl: float, wait: float, on_lost: Callable[[str | None], object]
    ) -> None:
        self.session_id = keys.session_id
        self._client = client
        self._keys = keys
        self._fold = fold
        self._on_lost = on_lost
        self._hold = SessionHold(client, keys, holder, ttl, wait, self._taken)
        self._transcripts: dict[str | None, Transcript] = {}
        self._backlog: list[_Waiting] = []
        self._turn = asyncio.Lock()
        self._pending = 0
        # From the beginning of work until the session is released or lost. Otherwise it is held for one change at a time.
        self._is_working = False

    @property
    def is_held(self) -> bool:
        return self._hold.lease is not None

    @property
    def is_idle(self) -> bool:
        """No call is in progress and every batch is stored."""
        return self._pending == 0 and not self._backlog

    async def append(self, subpath: str | None, entries: Sequence[Mapping[str, Any]]) -> None:
        lines = to_lines(entries)
        if not lines:
            return
        characters = sum(len(line.text) for line in lines)
        async with self._in_turn():
            # The SDK repeats a call that failed. The batch is still here and must not be queued twice.
            last = self._backlog[-1] if self._backlog else None
            if last is None or last.subpath != subpath or last.characters != characters or last.batch.lines != lines:
                if sum(each.characters for each in self._backlog) + characters > _BACKLOG_CHARACTERS_MAX:
                    raise too_large("entries", f"at most {_BACKLOG_CHARACTERS_MAX} characters may wait for the store")
                self._backlog.append(_Waiting(Batch(lines, list(entries)), subpath, characters))
            await self._flush()

    async def load(self) -> list[dict[str, Any]] | None:
        """Begins to work on the session and reads its main transcript; None if it was never written."""
        async with self._in_turn():
            main = self._transcript(None)
            # A session that does not exist is not held: there is nothing to continue.
            if not self.is_held and not await main.exists():
                return None
            try:
                await self._flush()
            except HoldfastError as error:
                # Batches that wait belong to the work before; if that was taken over, they are stale.
                if error.code != "lease_lost":
                    raise
            await self._begin()
            return await main.read()

    async def flush(self) -> None:
        """Stores what waits."""
        async with self._in_turn():
            await self._flush()

    async def release(self) -> None:
        """Stores what waits and lets other hosts continue the session."""
        async with self._in_turn():
            try:
                await self._flush()
            finally:
                self._is_working = False
                await self._hold.release()
                self._transcripts.clear()

    async def delete(self, subpath: str | None) -> None:
        """Deletes a subagent's transcript or, without a subpath, the whole session."""
        async with self._in_turn():
            keys = self._keys.transcript(subpath)
            prefixes = [self._keys.subheads, self._keys.chunks] if subpath is None else [keys.chunks]
            if not await self._transcript(subpath).exists() and not await self._is_any(prefixes):
                return
            lease = await self._hold.visit()
            self._backlog = [] if subpath is None else [each for each in self._backlog if each.subpath != subpath]
            try:
                # The head first: what has no head is in no list, and a repeated call removes the rest.
                await self._remove([keys.head], lease)
                for prefix in prefixes:
                    await self._remove_all(prefix, lease)
                if subpath is None:
                    await self._remove([self._keys.owner], lease)
            finally:
                if subpath is None:
                    self._is_working = False
                    self._hold.has_begun = False
                    self._transcripts.clear()
                else:
                    self._transcripts.pop(subpath, None)
                if not self._is_working:
                    await self._hold.release()

    async def _flush(self) -> None:
        while self._backlog:
            try:
                await self._store(self._backlog[0])
            except HoldfastError as error:
                if error.code == "lease_lost":
                    # Another store continues the session, so everything that waits here is stale.
                    self._backlog.clear()
                elif error.code == "limit_exceeded" or (error.code == "claim_held" and not self._hold.has_begun):
                    # What can never be stored, or is a change of a session that another host works on, must not be stored later either.
                    del self._backlog[0]
                raise
            del self._backlog[0]

    async def _store(self, waiting: _Waiting) -> None:
        for attempt in range(1, LEASE_ATTEMPTS_MAX + 1):
            try:
                lease = await self._lease()
                await self._transcript(waiting.subpath).append(waiting.batch, lease)
                return
            except HoldfastError as error:
                if error.code != "lease_lost" or isinstance(error, SessionTakenOver):
                    raise
                # It lapsed while the process was suspended or the store did not answer. Whether another store has begun since shows when it is
                # acquired again.
                await self._hold.release()
                if attempt == LEASE_ATTEMPTS_MAX:
                    raise self._hold.lapsed() from error
            finally:
                if not self._is_working:
                    await self._hold.release()

    async def _lease(self) -> LeaseRef:
        if self._hold.has_begun:
            try:
                return await self._hold.resume()
            except HoldfastError as error:
                if error.code == "lease_lost":
                    self._taken(error.details.get("held_by"))
                raise
        # A new session is worked on from its first batch. A change of one that exists, such as a new title, holds it for that change only.
        return await self._hold.visit() if await self._transcript(None).exists() else await self._begin()

    async def _begin(self) -> LeaseRef:
        lease = await self._hold.begin()
        self._is_working = True
        return lease

    def _taken(self, held_by: str | None) -> None:
        if self._is_working:
            self._is_working = False
            self._on_lost(held_by)

    def _transcript(self, subpath: str | None) -> Transcript:
        if subpath not in self._transcripts:
            self._transcripts[subpath] = Transcript(self._client, self._keys, subpath, self._fold)
        return self._transcripts[subpath]

    async def _is_any(self, prefixes: Sequence[str]) -> bool:
        for prefix in prefixes:
            if (await self._client.state.list(prefix=prefix, limit=1, values=False)).entries:
                return True
        return False

    async def _remove_all(self, prefix: str, lease: LeaseRef) -> None:
        while True:
            page = await self._client.state.list(prefix=prefix, limit=_DELETED_KEYS_MAX, values=False)
            if not page.entries:
                return
            await self._remove([entry.key for entry in page.entries], lease)

    async def _remove(self, keys: Sequence[str], lease: LeaseRef) -> None:
        await self._client.state.commit([DeleteWrite(key=key) for key in keys], leases=[lease])

    def _in_turn(self) -> _Turn:
        return _Turn(self)


class _Turn:
    def __init__(self, session: WorkSession) -> None:
        self._session = session

    async def __aenter__(self) -> None:
        self._session._pending += 1
        try:
            await self._session._turn.acquire()
        except BaseException:
            self._session._pending -= 1
            raise

    async def __aexit__(self, *_: object) -> None:
        self._session._turn.release()
        self._session._pending -= 1
