from __future__ import annotations

import asyncio
import importlib
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from ..aio import AsyncHoldfast
from ..errors import HoldfastError, invalid_input
from ._keys import main_heads, session_keys, subpath_of
from ._transcript import Fold, Head, Transcript, read_head, summary_in
from ._work import WorkSession

_LIST_PAGE = 500
_LISTED_MAX = 10_000
# Sessions held at one time; one more releases the one that was used longest ago.
_HELD_MAX = 256
# Sessions that the store remembers to have worked on, so that it can refuse their stale batches.
_REMEMBERED_MAX = 10_000


@dataclass(frozen=True)
class LostSession:
    """A session that another host has taken over."""

    project_key: str
    session_id: str
    held_by: str | None


class SessionReader:
    """Reads without holding anything, for lists, viewers and forks: pass `store.reader` where nothing is continued. It refuses changes."""

    def __init__(self, client: AsyncHoldfast, folds: bool) -> None:
        self._client = client
        self._folds = folds

    async def append(self, key: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> None:
        raise _read_only()

    async def delete(self, key: Mapping[str, Any]) -> None:
        raise _read_only()

    async def load(self, key: Mapping[str, Any]) -> list[Any] | None:
        return await Transcript(self._client, session_keys(key), subpath_of(key), None).read()

    async def list_sessions(self, project_key: str) -> list[Any]:
        return [{"session_id": head["sessionId"], "mtime": mtime} for head, mtime in await self._heads(main_heads(project_key))]

    async def list_session_summaries(self, project_key: str) -> list[Any]:
        if not self._folds:
            # The SDK takes this for a store without summaries and loads the sessions instead.
            raise NotImplementedError
        found = [summary_in(head, mtime) for head, mtime in await self._heads(main_heads(project_key))]
        return [summary for summary in found if summary is not None]

    async def list_subkeys(self, key: Mapping[str, Any]) -> list[str]:
        return [str(head["subpath"]) for head, _ in await self._heads(session_keys(key).subheads)]

    async def _heads(self, prefix: str) -> list[tuple[Head, int]]:
        heads: list[tuple[Head, int]] = []
        after: str | None = None
        while True:
            page = await self._client.state.list(prefix=prefix, limit=_LIST_PAGE, after=after)
            for entry in page.entries:
                head = read_head(entry.value, entry.key)
                # One without entries is a first batch whose last commit is still to come.
                if head["entries"] > 0:
                    heads.append((head, round(entry.updated_at * 1_000)))
            if not page.more or not page.entries:
                return heads
            after = page.entries[-1].key
            if len(heads) >= _LISTED_MAX:
                raise HoldfastError(
                    "limit_exceeded", f"A list may have {_LISTED_MAX} transcripts; this one has more.", hint="Delete old sessions, or use several project keys."
                )


class HoldfastSessionStore:
    """A session store for the Claude Agent SDK: `ClaudeAgentOptions(session_store=store, resume=session_id)`.

    `load` begins to work on a session and holds it; so does the first batch of a new one. Until `release`, `close` or the end of the process, other stores
    cannot continue it.

    `host`: shown to other hosts as the holder; the machine's name by default. `lease`: how many seconds a session stays with a host that stopped answering.
    `wait`: how long `load` waits for a session that another host holds. `on_lost`: called when another host has taken a session over; stop its query.
    `fold_session_summary`: the SDK's function of this name, which is found by itself if the SDK is installed."""

    def __init__(
        self,
        client: AsyncHoldfast,
        *,
        host: str | None = None,
        lease: float = 30.0,
        wait: float = 0.0,
        on_lost: Callable[[LostSession], object] | None = None,
        fold_session_summary: Fold | None = None,
    ) -> None:
        name = socket.gethostname() if host is None else host
        if not 1 <= len(name) <= 100:
            raise invalid_input("host", "must be a name of 1 to 100 characters")
        if not 1 <= lease <= 3_600:
            raise invalid_input("lease", "must be a number of seconds from 1 to 3600")
        if not 0 <= wait <= 3_600:
            raise invalid_input("wait", "must be a number of seconds from 0 to 3600")
        # Two stores are two holders even if they run on one host or under one name.
        self.holder = f"{name} ({secrets.token_hex(4)})"
        self._client = client
        self._lease = lease
        self._wait = wait
        self._on_lost = on_lost
        self._fold = fold_session_summary or _fold_of_sdk()
        self._is_closed = False
        # The one that was used longest ago comes first.
        self._sessions: dict[str, WorkSession] = {}
        self.reader = SessionReader(client, self._fold is not None)

    async def append(self, key: Mapping[str, Any], entries: Sequence[Mapping[str, Any]]) -> None:
        await self._session(key).append(subpath_of(key), entries)
        await self._release_idle()

    async def load(self, key: Mapping[str, Any]) -> list[Any] | None:
        # The SDK loads subagents' transcripts after the main one, under whose lease they are.
        if subpath_of(key) is not None:
            return await self.reader.load(key)
        entries = await self._session(key).load()
        await self._release_idle()
        return entries

    async def list_sessions(self, project_key: str) -> list[Any]:
        return await self.reader.list_sessions(project_key)

    async def list_session_summaries(self, project_key: str) -> list[Any]:
        return await self.reader.list_session_summaries(project_key)

    async def delete(self, key: Mapping[str, Any]) -> None:
        await self._session(key).delete(subpath_of(key))

    async def list_subkeys(self, key: Mapping[str, Any]) -> list[str]:
        return await self.reader.list_subkeys(key)

    async def flush(self) -> None:
        """Stores batches that could not be stored before. Batches that failed are also stored with the next `append` of their session."""
        await _settled(session.flush() for session in list(self._sessions.values()))

    async def release(self, session_id: str) -> None:
        """The host is done with a session: other hosts can continue it at once."""
        await _settled(session.release() for session in list(self._sessions.values()) if session.session_id == session_id)

    async def close(self) -> None:
        """Releases every session. Raises if batches could not be stored. The client stays open."""
        self._is_closed = True
        await _settled(session.release() for session in list(self._sessions.values()))

    async def __aenter__(self) -> HoldfastSessionStore:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    def _session(self, key: Mapping[str, Any]) -> WorkSession:
        keys = session_keys(key)
        if self._is_closed:
            raise HoldfastError("cancelled", "The session store is closed; nothing was changed.")
        session = self._sessions.pop(keys.resource, None)
        if session is None:

            def lost(held_by: str | None) -> None:
                if self._on_lost is not None:
                    self._on_lost(LostSession(keys.project_key, keys.session_id, held_by))

            session = WorkSession(self._client, keys, self._fold, holder=self.holder, ttl=self._lease, wait=self._wait, on_lost=lost)
        self._sessions[keys.resource] = session
        return session

    async def _release_idle(self) -> None:
        idle = [(resource, session) for resource, session in self._sessions.items() if session.is_idle]
        held = [session for _, session in idle if session.is_held]
        for session in held[: max(0, len(held) - _HELD_MAX)]:
            await session.release()
        free = [resource for resource, session in idle if not session.is_held]
        for resource in free[: max(0, len(self._sessions) - _REMEMBERED_MAX)]:
            self._sessions.pop(resource, None)


def _fold_of_sdk() -> Fold | None:
    try:
        fold: Fold | None = getattr(importlib.import_module("claude_agent_sdk"), "fold_session_summary", None)
    except ImportError:
        return None
    return fold


def _read_only() -> HoldfastError:
    return HoldfastError("read_only", "This is the store's reader; nothing was changed.", hint="Pass the store itself to change sessions.")


async def _settled(work: Iterable[Awaitable[None]]) -> None:
    """Waits for all, then raises the first failure."""
    for result in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result
