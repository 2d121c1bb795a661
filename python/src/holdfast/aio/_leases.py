from __future__ import annotations

import secrets
import time

from .._attempt import RetryDelay
from .._server_table import WAIT_PART_SECONDS_MAX
from .._wire import decoder
from ..results import AcquireResult, LeaseAcquired, LeasePage, LeaseRefused, Released, RenewalRefused, Renewed, RenewResult
from ._calls import AsyncCalls
from ._state import require_seconds


class AsyncLeases:
    """Who may do something, for a time, with a fencing token."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def acquire(
        self, resource: str, *, ttl: float, wait: float | None = None, agent: str | None = None, request_key: str | None = None
    ) -> AcquireResult:
        """`wait`: how long to wait in line for it. `client.lease` acquires, renews and releases by itself."""
        until = time.monotonic() + (0.0 if wait is None else require_seconds(wait, "wait"))
        key = request_key or secrets.token_hex(16)
        delay = RetryDelay(float("inf"))
        part = 0
        while True:
            part += 1
            # A refusal is an answer too, and is remembered under its key; a caller that repeats the whole call uses the same keys.
            part_key = key if part == 1 else f"{key}#{part}"
            begun = time.monotonic()
            seconds = min(float(WAIT_PART_SECONDS_MAX), max(0.0, until - begun))
            try:
                result = await self._acquire_part(resource, ttl, seconds, agent, part_key, None)
            except BaseException:
                if seconds > 0:
                    await self._give_back(resource, ttl, agent, part_key)
                raise
            now = time.monotonic()
            if result.ok or now >= until:
                return result
            if now - begun >= seconds:
                delay.reset()
            elif await self._calls.closed.wait(min(delay.next() or 0.0, until - now)):
                return result

    async def _acquire_part(
        self, resource: str, ttl: float, seconds: float, agent: str | None, request_key: str, retry_for: float | None
    ) -> AcquireResult:
        return await self._calls.call(
            "leases.acquire",
            decoder(LeaseAcquired, LeaseRefused),
            wait_seconds=seconds,
            retry_for=retry_for,
            resource=resource,
            ttl=ttl,
            wait=seconds or None,
            agent=agent,
            request_key=request_key,
        )

    async def _give_back(self, resource: str, ttl: float, agent: str | None, request_key: str) -> None:
        """The wait was ended from here, perhaps at the moment in which the lease became ours: under the same key the server says so, and it goes back."""
        try:
            result = await self._acquire_part(resource, ttl, 0.0, agent, request_key, 0.0)
            if isinstance(result, LeaseAcquired) and not result.renewed:
                await self._calls.call("leases.release", decoder(Released), retry_for=0.0, resource=resource, token=result.token, agent=agent)
        except Exception:
            # The error that ended the wait is the news; the lease lapses by itself.
            return

    async def renew(
        self, resource: str, *, ttl: float, token: int | None = None, agent: str | None = None, request_key: str | None = None
    ) -> RenewResult:
        return await self._calls.call(
            "leases.renew", decoder(Renewed, RenewalRefused), resource=resource, ttl=ttl, token=token, agent=agent, request_key=request_key
        )

    async def release(self, resource: str, *, token: int | None = None, agent: str | None = None, request_key: str | None = None) -> Released:
        return await self._calls.call("leases.release", decoder(Released), resource=resource, token=token, agent=agent, request_key=request_key)

    async def list(self, *, limit: int | None = None, after: str | None = None) -> LeasePage:
        return await self._calls.call("leases.list", decoder(LeasePage), limit=limit, after=after)
