"""What came of working on a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Union

from ._wire import Json


@dataclass(frozen=True, kw_only=True)
class WorkDone:
    status: Literal["done"] = "done"
    run_id: str
    result: Json = None


@dataclass(frozen=True, kw_only=True)
class WorkFailed:
    status: Literal["failed"] = "failed"
    run_id: str
    error: Json = None


@dataclass(frozen=True, kw_only=True)
class WorkCancelled:
    status: Literal["cancelled"] = "cancelled"
    run_id: str


@dataclass(frozen=True, kw_only=True)
class WorkParked:
    """Given back until its time comes, a signal arrives, or the effect is resolved."""

    status: Literal["parked"] = "parked"
    run_id: str
    reason: Literal["sleep", "signal", "effect_unknown"]
    step: str
    effect_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class WorkHeld:
    """Another worker has it, or took it over from us."""

    status: Literal["held"] = "held"
    run_id: str
    held_by: str | None = None


@dataclass(frozen=True, kw_only=True)
class WorkStopped:
    """The caller stopped the worker, and the run was given back."""

    status: Literal["stopped"] = "stopped"
    run_id: str


WorkOutcome = Union[WorkDone, WorkFailed, WorkCancelled, WorkParked, WorkHeld, WorkStopped]


@dataclass(frozen=True)
class Interruption:
    """Why work on a run ends although its function has not returned."""

    kind: Literal["lost", "stopped", "parked", "failing"]
    held_by: str | None = None
    reason: Literal["sleep", "signal", "effect_unknown"] = "sleep"
    step: str = ""
    effect_id: str | None = None
    awaited: tuple[str, int] | None = None
    """The key of the signal that a parked run waits for, and the version above which it counts."""
    after: float = 0.0
    error: Exception | None = None
