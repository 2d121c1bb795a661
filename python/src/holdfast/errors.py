"""What a call can fail with. Expected refusals, such as a lease that another agent holds, are results instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._server_table import RETRYABLE, ErrorCode

__all__ = ["EffectNotDone", "EffectUnknown", "ErrorCode", "HoldfastError", "RunInterrupted"]


class HoldfastError(Exception):
    """A call failed. `code` is one of the server's error codes; `hint` says what to do next."""

    def __init__(self, code: ErrorCode, message: str, *, hint: str | None = None, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code: ErrorCode = code
        self.message = message
        self.hint = hint
        self.details: dict[str, Any] = dict(details or {})

    @property
    def retryable(self) -> bool:
        """The same call may succeed later. The client has already retried for `retry_for` seconds where that is safe."""
        return self.code in RETRYABLE

    @property
    def request_key(self) -> str | None:
        """After `outcome_unknown`: repeat the call with this key. It cannot take effect twice."""
        key = self.details.get("requestKey")
        return key if isinstance(key, str) else None

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" + (f" {self.hint}" if self.hint else "")


class EffectNotDone(Exception):
    """Raise it in the function of an effect when it is certain that nothing took effect: the step may be retried."""


class EffectUnknown(HoldfastError):
    """An effect began, and whether it happened is unknown. The run is parked until a caller of `effects.resolve` says so."""

    def __init__(self, run_id: str, step: str, effect_id: str) -> None:
        super().__init__(
            "outcome_unknown",
            f'Whether step "{step}" of run {run_id} took effect is unknown; the run waits until effect {effect_id} is resolved.',
            hint="Find out whether it happened, and call effects.resolve with the answer.",
            details={"run_id": run_id, "step": step, "effect_id": effect_id},
        )
        self.step = step
        self.effect_id = effect_id


class RunInterrupted(Exception):
    """Raised by the steps of a run that this worker must stop working on. Catching it changes nothing: every further step raises it again."""


def invalid_input(field: str, allowed: str) -> HoldfastError:
    return HoldfastError("invalid_input", f"{field}: {allowed}", details={"field": field})


def error_in(answer: object) -> HoldfastError | None:
    """The failure that an answer carries, as the server raised it."""
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("code"), str) or not isinstance(error.get("message"), str):
        return None
    hint, details = error.get("hint"), error.get("details")
    return HoldfastError(error["code"], error["message"], hint=hint if isinstance(hint, str) else None, details=details if isinstance(details, dict) else None)
