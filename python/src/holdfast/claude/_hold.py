from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from .._wire import decoder
from ..aio import AsyncHoldfast
from ..aio._hold import AsyncHold
from ..errors import HoldfastError
from ..results import LeaseAcquired, LeaseRef, RenewalRefused, Renewed, RenewResult
from ._keys import SessionKeys


# How often a change is tried again whose lease expired before it was made.
LEASE_ATTEMPTS_MAX = 3


class SessionTakenOver(HoldfastError):
    """Another store has begun to work on the session; a lease may also lapse while no other store wants it."""


class _Watched(AsyncHold):
    """A lease that reports when another store has acquired it."""

    def __init__(self, ttl: float, granted_at: float, renew: Callable[[float], Awaitable[RenewResult]], on_taken: Callable[[str], None]) -> None:
        self._on_taken = on_taken
        super().__init__(ttl, granted_at, renew)

    async def _keep(self) -> None:
        await super()._keep()
        if self.held_by is not None:
            self._on_taken(self.held_by)


class SessionHold:
    """The lease on a session, and the record of the store that last began to work on it. A lease that lapsed, because the process was suspended or the
    server could not be reached, is acquired again only while that record still names this store."""

    def __init__(self, client: AsyncHoldfast, keys: SessionKeys, holder: str, ttl: float, wait: float, on_taken: Callable[[str], None]) -> None:
        self._client = client
        self._keys = keys
        self._holder = holder
        self._ttl = ttl
        self._wait = wait
        self._on_taken = on_taken
        self._lease: LeaseRef | None = None
        self._hold: _Watched | None = None
        self.has_begun = False
        """This store has begun to work on the session, and the session was not deleted since."""

    @property
    def lease(self) -> LeaseRef | None:
        if self._hold is not None and self._hold.lost:
            self._lease = None
        return self._lease

    async def begin(self) -> LeaseRef:
        """Begins to work on the session as it is stored now. Raises `claim_held` if another store is at work on it."""
        if self.lease is not None and self.has_begun:
            return self.lease
        attempt = 0
        while True:
            attempt += 1
            lease = self.lease or await self._acquire()
            try:
                await self._client.state.set(self._keys.owner, {"holder": self._holder}, lease=lease, agent=self._holder)
            except BaseException as error:
                await self.release()
                if not isinstance(error, HoldfastError) or error.code != "lease_lost":
                    raise
                if attempt == LEASE_ATTEMPTS_MAX:
                    raise self.lapsed() from error
            else:
                self.has_begun = True
                return lease

    async def resume(self) -> LeaseRef:
        """The lease, for a store that has begun before. Raises `lease_lost` if another store has begun to work on the session since."""
        if self.lease is not None:
            return self.lease
        lease = await self._acquire()
        owner = await self._client.state.get(self._keys.owner)
        by = owner.value.get("holder") if owner is not None and isinstance(owner.value, dict) else None
        if by == self._holder:
            return lease
        await self.release()
        raise self._lost_to(by if isinstance(by, str) else None)

    async def visit(self) -> LeaseRef:
        """The lease for a single change of a session that this store does not work on."""
        return self.lease or await self._acquire()

    async def release(self) -> None:
        """A lease that cannot be released expires by itself."""
        lease, hold = self._lease, self._hold
        self._lease = self._hold = None
        if hold is not None:
            await hold.end()
        if lease is not None:
            try:
                await self._client.leases.release(lease.resource, token=lease.token, agent=self._holder)
            except HoldfastError:
                return

    def lapsed(self) -> HoldfastError:
        return HoldfastError(
            "unavailable",
            f'The lease on session "{self._keys.session_id}" kept expiring before the store answered; nothing was changed.',
            hint="Try again, or use a longer lease.",
            details={"session_id": self._keys.session_id, "resource_id": self._keys.resource},
        )

    def _lost_to(self, by: str | None) -> SessionTakenOver:
        how = "deleted or taken over" if by is None else f"taken over by {by}"
        return SessionTakenOver(
            "lease_lost",
            f'Session "{self._keys.session_id}" was {how}; nothing was changed.',
            hint="Stop this query. Load the session again to continue from what is stored now.",
            details={"session_id": self._keys.session_id, "resource_id": self._keys.resource, "held_by": by},
        )

    async def _acquire(self) -> LeaseRef:
        resource = self._keys.resource
        if self._hold is not None:
            await self._hold.end()
        asked_at = time.monotonic()
        acquired = await self._client.leases.acquire(resource, ttl=self._ttl, wait=self._wait or None, agent=self._holder)
        if not isinstance(acquired, LeaseAcquired):
            raise self._held(acquired.held_by, acquired.expires_at)
        lease = LeaseRef(resource, acquired.token)
        if self._wait:
            # After a wait it is unknown when the lease began: a renewal shows it.
            asked_at = time.monotonic()
            renewed = await self._client.leases.renew(resource, ttl=self._ttl, token=lease.token, agent=self._holder)
            if isinstance(renewed, RenewalRefused):
                raise self._held(renewed.held_by, None)

        async def renew(seconds: float) -> RenewResult:
            return await self._client.calls.call(
                "leases.renew",
                decoder(Renewed, RenewalRefused),
                retry_for=seconds,
                resource=resource,
                ttl=self._ttl,
                token=lease.token,
                agent=self._holder,
            )

        self._lease = lease
        self._hold = _Watched(self._ttl, asked_at, renew, self._on_taken)
        return lease

    def _held(self, by: str | None, expires_at: float | None) -> HoldfastError:
        return HoldfastError(
            "claim_held",
            f'Session "{self._keys.session_id}" is in use{"" if by is None else f" by {by}"}; nothing was changed.',
            hint="Continue it there, end it there, or try again when its lease has expired.",
            details={"session_id": self._keys.session_id, "resource_id": self._keys.resource, "held_by": by, "expires_at": expires_at},
        )
