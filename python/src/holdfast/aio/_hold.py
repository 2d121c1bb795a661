from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from types import TracebackType

from .._wire import decoder
from ..errors import HoldfastError
from ..results import AcquireResult, LeaseAcquired, Released, RenewalRefused, Renewed, RenewResult
from ._calls import AsyncCalls
from ._io import AsyncBackground, AsyncEvent
from ._leases import AsyncLeases

# The holder stops this part of the time before the deadline when renewals stay without an answer.
_RESERVE = 0.1


class AsyncHold:
    """Renews a lease or a claim. The deadline counts from before each renewal was sent, so it never lies after the store's:
    a holder that stops at it stops before another can begin."""

    def __init__(self, ttl: float, granted_at: float, renew: Callable[[float], Awaitable[RenewResult]]) -> None:
        self._ttl = ttl
        self._deadline = granted_at + ttl * (1 - _RESERVE)
        self._renew = renew
        self._over = AsyncEvent()
        self._is_lost = False
        self.held_by: str | None = None
        self._keeping = AsyncBackground(self._keep)

    @property
    def lost(self) -> bool:
        """Judged by the clock, so it is true in time even while a renewal hangs; once true, it stays true."""
        if time.monotonic() >= self._deadline:
            self._is_lost = True
        return self._is_lost

    async def end(self) -> None:
        self._over.set()
        await self._keeping.join(1.0)

    async def _keep(self) -> None:
        pause = self._ttl / 3
        while not await self._over.wait(min(pause, self._deadline - time.monotonic())):
            if self.lost:
                return
            sent_at = time.monotonic()
            pause = min(1.0, self._ttl / 10)
            try:
                result = await self._renew(self._deadline - sent_at)
            except HoldfastError:
                continue
            if isinstance(result, RenewalRefused):
                self._is_lost = True
                self.held_by = result.held_by
                return
            if self.lost:
                return
            self._deadline = sent_at + self._ttl * (1 - _RESERVE)
            pause = self._ttl / 3


class AsyncHeldLease:
    """`async with client.lease("deploy", ttl=60) as lease:` acquires the lease, renews it meanwhile and releases it at the end.

    Pass `lease=lease` with every write. Work in pieces and call `lease.require()` between them: it raises `lease_lost` once the lease is lost.
    Leaving the block raises `lease_lost`, too, where the lease was lost meanwhile."""

    def __init__(self, calls: AsyncCalls, leases: AsyncLeases, resource: str, ttl: float, wait: float | None, agent: str | None) -> None:
        self._calls = calls
        self._leases = leases
        self.resource = resource
        self._ttl = ttl
        self._wait = wait
        self._agent = agent
        self._acquired: LeaseAcquired | None = None
        self._hold: AsyncHold | None = None

    @property
    def token(self) -> int:
        if self._acquired is None:
            raise RuntimeError("The lease has a token only inside its with block.")
        return self._acquired.token

    @property
    def lost(self) -> bool:
        return self._hold is not None and self._hold.lost

    def require(self) -> None:
        """Raises `lease_lost` once the lease is lost: by the server's word, or before it could lapse while the server stays silent."""
        if self._hold is not None and self._hold.lost:
            by = self._hold.held_by
            raise HoldfastError(
                "lease_lost",
                f'The lease on "{self.resource}" was lost{"" if by is None else f" to {by}"} while the work ran.',
                hint="Check what changed meanwhile before you begin again.",
                details={"resource_id": self.resource, "token": self.token},
            )

    async def __aenter__(self) -> AsyncHeldLease:
        asked_at = time.monotonic()
        acquired: AcquireResult = await self._leases.acquire(self.resource, ttl=self._ttl, wait=self._wait, agent=self._agent)
        if not isinstance(acquired, LeaseAcquired):
            raise _held(self.resource, acquired.held_by)
        self._acquired = acquired
        if self._wait:
            # After a wait it is unknown when the lease began: a renewal shows it.
            asked_at = time.monotonic()
            renewed = await self._renew(self._ttl)
            if isinstance(renewed, RenewalRefused):
                raise _held(self.resource, renewed.held_by)
        self._hold = AsyncHold(self._ttl, asked_at, self._renew)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._hold is None or self._acquired is None:
            return
        await self._hold.end()
        if kind is None:
            self.require()
        # One that this agent held before stays with the caller that acquired it first.
        if self._hold.lost or self._acquired.renewed:
            return
        try:
            await self._calls.call(
                "leases.release", decoder(Released), retry_for=self._ttl, resource=self.resource, token=self.token, agent=self._agent
            )
        except HoldfastError:
            # A store that does not answer must not hide what the work came to: the lease lapses by itself.
            return

    async def _renew(self, seconds: float) -> RenewResult:
        return await self._calls.call(
            "leases.renew",
            decoder(Renewed, RenewalRefused),
            retry_for=seconds,
            resource=self.resource,
            ttl=self._ttl,
            token=self.token,
            agent=self._agent,
        )


def _held(resource: str, held_by: str | None) -> HoldfastError:
    # The same code as for a run that another agent has claimed.
    return HoldfastError(
        "claim_held",
        f'The lease on "{resource}" is {"taken" if held_by is None else f"held by {held_by}"}; nothing was changed.',
        hint="Pass wait to stand in line, or call leases.acquire, which returns a refusal as a result.",
        details={"resource_id": resource, "held_by": held_by},
    )
