"""Durable shared state for AI agents: a client of the Holdfast server. `holdfast.aio` is the same for asyncio."""

from ._version import __version__
from ._wire import Json
from .errors import EffectNotDone, EffectUnknown, ErrorCode, HoldfastError, RunInterrupted
from .results import DeleteWrite, HistoryCursor, LeaseRef, SetWrite
from .sync import Event, HeldLease, Holdfast, Run, RunningEffect, StepAttempt, Watch, connect, open

__all__ = [
    "DeleteWrite",
    "EffectNotDone",
    "EffectUnknown",
    "ErrorCode",
    "Event",
    "HeldLease",
    "HistoryCursor",
    "Holdfast",
    "HoldfastError",
    "Json",
    "LeaseRef",
    "Run",
    "RunInterrupted",
    "RunningEffect",
    "SetWrite",
    "StepAttempt",
    "Watch",
    "__version__",
    "connect",
    "open",
]
