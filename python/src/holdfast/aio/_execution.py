from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from .._wire import decoder
from ..errors import HoldfastError, RunInterrupted
from ..outcomes import Interruption
from ..results import LeaseRef, RenewalRefused, Renewed, RenewResult, RunClaimed
from ._hold import AsyncHold
from ._io import AsyncEvent

if TYPE_CHECKING:
    from ._client import AsyncHoldfast

_T = TypeVar("_T")
# Refusals that say that the run is not ours any more.
_LOSSES = frozenset(("claim_lost", "claim_held", "lease_lost", "workflow_finished", "not_found"))
# Refusals of what the caller gave: they are the workflow's own errors.
_OWN = frozenset(("invalid_input", "limit_exceeded", "conflict", "ambiguous"))
_LOOK_SECONDS = 0.2


class AsyncExecution:
    """One worker's time with a run that it has claimed: the heartbeat, and the reason why it ended."""

    def __init__(self, client: AsyncHoldfast, claimed: RunClaimed, ttl: float, asked_at: float, stop: AsyncEvent | None) -> None:
        self.client = client
        self.run_id = claimed.run_id
        self.agent = claimed.agent_id
        self.ttl = ttl
        self.claim = LeaseRef(f"workflow/{claimed.run_id}", claimed.token)
        self._asked_at = asked_at
        self._claimed_at_store = claimed.expires_at - ttl
        self._stop = stop
        self._interruption: Interruption | None = None
        self._hold = AsyncHold(ttl, asked_at, self._renew)

    @property
    def interruption(self) -> Interruption | None:
        if self._interruption is None and self._hold.lost:
            self._interruption = Interruption("lost", held_by=self._hold.held_by)
        if self._interruption is None and self._stop is not None and self._stop.is_set():
            self._interruption = Interruption("stopped")
        return self._interruption

    def interrupt(self, interruption: Interruption) -> Exception:
        """The first reason counts. What it returns is to be raised."""
        if self.interruption is None:
            self._interruption = interruption
        return self._error()

    def require_going(self) -> None:
        if self.interruption is not None:
            raise self._error()

    def _error(self) -> Exception:
        interruption = self._interruption
        if interruption is not None and interruption.kind == "parked" and interruption.error is not None:
            return interruption.error
        why = {"lost": "another worker has it, or it was cancelled", "stopped": "the worker stops", "parked": "it was given back until later"}
        return RunInterrupted(f"Run {self.run_id} is interrupted: {why.get(interruption.kind if interruption else '', 'the store failed')}.")

    def store_now(self) -> float:
        """The store's time, from the claim on, by a clock that cannot be set."""
        return self._claimed_at_store + (time.monotonic() - self._asked_at)

    async def pause(self, seconds: float) -> None:
        """Raises where the run is interrupted meanwhile."""
        until = time.monotonic() + seconds
        idle = self._stop or AsyncEvent()
        while (left := until - time.monotonic()) > 0:
            self.require_going()
            await idle.wait(min(left, _LOOK_SECONDS))
        self.require_going()

    async def guarded(self, ask: Callable[[], Awaitable[_T]]) -> _T:
        """A call of the store for this run. Where it says that the run is not ours, or fails, the run is interrupted."""
        try:
            return await ask()
        except HoldfastError as error:
            raise self.judged(error) from error

    def judged(self, error: Exception) -> Exception:
        if not isinstance(error, HoldfastError) or error.code in _OWN:
            return error
        return self.interrupt(Interruption("lost") if error.code in _LOSSES else Interruption("failing", error=error))

    async def end(self) -> None:
        """The work is over, however it ended: no more heartbeats."""
        await self._hold.end()

    async def _renew(self, seconds: float) -> RenewResult:
        try:
            return await self.client.calls.call(
                "workflows.renew",
                decoder(Renewed, RenewalRefused),
                retry_for=seconds,
                run_id=self.run_id,
                ttl=self.ttl,
                token=self.claim.token,
                agent=self.agent,
            )
        except HoldfastError as error:
            if error.code in _LOSSES:
                return RenewalRefused()
            raise
