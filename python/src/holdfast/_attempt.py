"""What came of one attempt at a call, and when to try again."""

from __future__ import annotations

import json
import random
import time
from dataclasses import dataclass
from typing import Any, Final

from .errors import HoldfastError, error_in, invalid_input

# Given before the server could look for the request key: such a refusal is blind, it says nothing about an earlier attempt.
_BLIND_CODES: Final = frozenset(
    ("unauthenticated", "forbidden", "rate_limited", "unavailable", "storage_full", "moved", "read_only", "internal", "cancelled")
)
RETRIED: Final = frozenset(("rate_limited", "unavailable", "outcome_unknown"))
_FIRST_DELAY = 0.1
_LONGEST_DELAY = 3.0


@dataclass(frozen=True)
class Answered:
    json: Any


@dataclass(frozen=True)
class Refused:
    error: HoldfastError
    at_least: float = 0.0
    is_blind: bool = False


@dataclass(frozen=True)
class Lost:
    problem: str
    was_sent: bool


Attempt = Answered | Refused | Lost


class LostConnection(Exception):
    """No answer came. `was_sent` False: nothing of the request has left this machine."""

    def __init__(self, problem: str, was_sent: bool = True) -> None:
        super().__init__(problem)
        self.was_sent = was_sent


def judge(status: int, retry_after: str | None, body: bytes) -> Attempt:
    if 300 <= status < 400:
        # A credential is not sent on to wherever an answer points.
        return Refused(invalid_input("url", "the server answered with a redirect; pass the address that it redirects to"), is_blind=True)
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    is_ok = 200 <= status < 300
    if is_ok and answer is not None:
        return Answered(answer)
    error = error_in(answer)
    if error is not None:
        return Refused(error, _seconds(retry_after), is_blind=error.code in _BLIND_CODES or error.details.get("reason") == "route")
    if is_ok or status >= 500 or status in (408, 429):
        # Not Holdfast's words: a proxy before it, or something else altogether.
        return Lost(f"HTTP {status} without an answer of Holdfast's", True)
    return Refused(no_library(status), is_blind=True)


def no_library(status: int) -> HoldfastError:
    return invalid_input("url", f"no Holdfast server with the library's routes answers at this address (HTTP {status})")


def _seconds(retry_after: str | None) -> float:
    try:
        return min(max(float(retry_after or 0), 0.0), 60.0)
    except ValueError:
        return 0.0


class RetryDelay:
    """Between attempts, longer each time and never in step with other clients."""

    def __init__(self, retry_for: float) -> None:
        self._began = time.monotonic(), time.time()
        self._until = time.monotonic() + retry_for
        self._next = _FIRST_DELAY

    def next(self, at_least: float = 0.0) -> float | None:
        """How long to wait now; None: enough."""
        seconds = max(at_least, self._next * random.uniform(0.5, 1.0))
        self._next = min(_LONGEST_DELAY, 2 * self._next)
        return None if time.monotonic() + seconds > self._until else seconds

    @property
    def elapsed(self) -> float:
        """Seconds since the first attempt. The steady clock does not advance while a machine sleeps, and the other one can be set back."""
        return max(time.monotonic() - self._began[0], time.time() - self._began[1])

    def reset(self) -> None:
        self._next = _FIRST_DELAY
