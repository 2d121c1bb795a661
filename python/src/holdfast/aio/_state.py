from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from .._attempt import RetryDelay
from .._server_table import WAIT_PART_SECONDS_MAX
from .._wire import Json, decoder, or_none
from ..errors import invalid_input
from ..results import (
    CommitRefused,
    CommitResult,
    CommitWrite,
    DeleteResult,
    LeaseLike,
    LeaseRef,
    SetResult,
    StateCommitted,
    StateDeleted,
    StateEntry,
    StatePage,
    StateSet,
    VersionConflict,
    WaitedState,
)
from ._calls import AsyncCalls
from ._watch import AsyncWatch


def lease_ref(lease: LeaseLike | None) -> LeaseRef | None:
    return None if lease is None else LeaseRef(lease.resource, lease.token)


class AsyncState:
    """Versioned values under keys."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def set(
        self,
        key: str,
        value: Json,
        *,
        ttl: float | None = None,
        expected_version: int | None = None,
        lease: LeaseLike | None = None,
        blobs: Sequence[str] | None = None,
        agent: str | None = None,
        request_key: str | None = None,
    ) -> SetResult:
        """`expected_version`: None writes unconditionally, 0 only creates, N compares and sets. `lease`: must be live, with its current token.

        `blobs`: hashes of blobs that the entry names. They are kept until the entry is overwritten, deleted or expired."""
        return await self._calls.call(
            "state.set",
            decoder(StateSet, VersionConflict),
            key=key,
            value=value,
            ttl=ttl,
            expected_version=expected_version,
            lease=lease_ref(lease),
            blobs=blobs,
            agent=agent,
            request_key=request_key,
        )

    async def get(self, key: str, *, version: int | None = None, revision: int | None = None) -> StateEntry | None:
        """The live entry, or one of the past by `version` or `revision`; None when there is none."""
        return await self._calls.call("state.get", or_none(decoder(StateEntry)), key=key, version=version, revision=revision)

    async def wait_for(self, key: str, *, version_above: int, timeout: float, was_there: bool = False) -> StateEntry | None:
        """Waits until the key has a version above the given one or the time is up, then reads it.

        `was_there`: the caller has seen the key before, so its absence, too, ends the wait."""
        until = time.monotonic() + require_seconds(timeout, "timeout")
        delay = RetryDelay(float("inf"))
        while True:
            begun = time.monotonic()
            part = min(float(WAIT_PART_SECONDS_MAX), max(0.0, until - begun))
            waited = await self._calls.call(
                "state.waitFor", decoder(WaitedState), wait_seconds=part, key=key, version_above=version_above, timeout=part, was_there=was_there
            )
            now = time.monotonic()
            if waited.has_happened or now >= until:
                return waited.entry
            was_there = waited.entry is not None
            if now - begun >= part:
                delay.reset()
            elif await self._calls.closed.wait(min(delay.next() or 0.0, until - now)):
                # A server that needs the place may end a part early.
                return waited.entry

    async def delete(
        self,
        key: str,
        *,
        expected_version: int | None = None,
        lease: LeaseLike | None = None,
        agent: str | None = None,
        request_key: str | None = None,
    ) -> DeleteResult:
        return await self._calls.call(
            "state.delete",
            decoder(StateDeleted, VersionConflict),
            key=key,
            expected_version=expected_version,
            lease=lease_ref(lease),
            agent=agent,
            request_key=request_key,
        )

    async def list(self, *, prefix: str | None = None, limit: int | None = None, after: str | None = None, values: bool | None = None) -> StatePage:
        """Live entries in byte order of their keys; give the last key as `after` for the next page."""
        return await self._calls.call("state.list", decoder(StatePage), prefix=prefix, limit=limit, after=after, values=values)

    async def commit(
        self,
        writes: Sequence[CommitWrite],
        *,
        expected: Mapping[str, int] | None = None,
        leases: Sequence[LeaseLike] | None = None,
        agent: str | None = None,
        request_key: str | None = None,
    ) -> CommitResult:
        """Several writes and deletes at one revision, or none. `expected`: versions that keys must have, 0 for absent."""
        return await self._calls.call(
            "state.commit",
            decoder(StateCommitted, CommitRefused),
            writes=writes,
            expected=None if expected is None else [{"key": key, "version": version} for key, version in expected.items()],
            leases=None if leases is None else [lease_ref(each) for each in leases],
            agent=agent,
            request_key=request_key,
        )

    def watch(self, *, key: str | None = None, prefix: str | None = None, after: int | None = None) -> AsyncWatch:
        """Every change in order, none skipped, none twice: of one key, of every key with a prefix, or of all.

        `after`: changes after this revision; those after now when left out. Resumes by itself when the connection breaks off."""
        return AsyncWatch(self._calls, key=key, prefix=prefix, after=after)


def require_seconds(seconds: float, field: str) -> float:
    # What a timer of the server can wait.
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds <= 2_147_483:
        raise invalid_input(field, "must be a number of seconds from 0 to 2147483")
    return seconds
