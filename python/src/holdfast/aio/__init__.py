"""Holdfast for asyncio: the same names as in `holdfast`, with `await`."""

from ._client import AsyncHoldfast, connect, open
from ._effects import AsyncRunningEffect
from ._hold import AsyncHeldLease
from ._io import AsyncEvent
from ._run import AsyncRun, AsyncStepAttempt
from ._watch import AsyncWatch

__all__ = ["AsyncEvent", "AsyncHeldLease", "AsyncHoldfast", "AsyncRun", "AsyncRunningEffect", "AsyncStepAttempt", "AsyncWatch", "connect", "open"]
