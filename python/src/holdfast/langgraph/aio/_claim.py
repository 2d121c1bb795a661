from __future__ import annotations

import secrets
from collections.abc import MutableMapping
from types import TracebackType

from ...aio import AsyncHeldLease, AsyncHoldfast
from ...errors import HoldfastError
from .._keys import claimed_key, thread_resource


class AsyncThreadClaim:
    """`async with saver.claim("thread-1"):` makes this saver the thread's only writer until the block ends or another worker takes over.

    The lease is renewed meanwhile. A worker that dies or is stopped stops renewing it; the next one to claim the thread then gets it, and whatever the first
    one still stores is refused in the commit itself."""

    def __init__(
        self, client: AsyncHoldfast, claims: MutableMapping[str, AsyncThreadClaim], thread_id: str, ttl: float, wait: float | None
    ) -> None:
        self.thread_id = thread_id
        self._client = client
        self._claims = claims
        # A lease is shared by everything that has the agent's name; a claim must not be.
        self._agent = f"{client.calls.agent or 'langgraph'}-{secrets.token_hex(4)}"
        self.lease: AsyncHeldLease = client.lease(thread_resource(thread_id), ttl=ttl, wait=wait, agent=self._agent)

    @property
    def lost(self) -> bool:
        """True once another worker may have the thread."""
        return self.lease.lost

    def require(self) -> None:
        """Raises `lease_lost` once the claim is lost. Call it between pieces of work that have effects outside."""
        self.lease.require()

    async def __aenter__(self) -> AsyncThreadClaim:
        await self.lease.__aenter__()
        try:
            # Outlives the lease: after a crash, only a worker that claims the thread may write to it.
            await self._client.state.set(claimed_key(self.thread_id), {"agent": self._agent}, lease=self.lease)
        except BaseException as error:
            await self.lease.__aexit__(type(error), error, error.__traceback__)
            raise
        self._claims[self.thread_id] = self
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._claims.get(self.thread_id) is self:
            del self._claims[self.thread_id]
        try:
            if not self.lease.lost:
                await self._client.state.delete(claimed_key(self.thread_id), lease=self.lease)
        except HoldfastError as problem:
            # The successor's mark stays. Other trouble must not hide what the work came to: the mark only asks the next worker for a claim.
            if problem.code == "lease_lost" and kind is None:
                raise
        finally:
            await self.lease.__aexit__(kind, error, trace)
