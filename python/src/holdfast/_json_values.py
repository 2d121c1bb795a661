"""What is no JSON is refused before it is sent: `json.dumps` would silently change it (NaN, a key that is a number)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .errors import HoldfastError, invalid_input

_VALUES = ("value", "output", "context", "input", "result", "error", "answer", "args", "shownArgs")
_DEPTH_MAX = 64
_SAFE_INTEGER = 2**53 - 1


def require_json_values(given: Mapping[str, Any]) -> None:
    for name in _VALUES:
        if name in given:
            require_json(given[name], name)
    for write in given.get("writes", ()):
        require_json(write.get("value"), "writes")


def require_json(root: object, field: str) -> None:
    stack: list[tuple[object, int]] = [(root, 0)]
    while stack:
        value, depth = stack.pop()
        if value is None or isinstance(value, (bool, str)):
            continue
        if isinstance(value, int):
            if abs(value) > _SAFE_INTEGER:
                raise invalid_input(field, f"contains an integer beyond ±{_SAFE_INTEGER}, which would lose digits; send it as a string")
        elif isinstance(value, float):
            if not math.isfinite(value):
                raise invalid_input(field, "must contain only finite numbers")
        elif isinstance(value, (dict, list, tuple)):
            if depth >= _DEPTH_MAX:
                raise HoldfastError("limit_exceeded", f"{field}: may be nested {_DEPTH_MAX} deep", details={"field": field})
            if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
                raise invalid_input(field, "must be JSON; it contains an object with a key that is not a str")
            stack.extend((member, depth + 1) for member in (value.values() if isinstance(value, dict) else value))
        else:
            raise invalid_input(field, f"must be JSON; it contains a {type(value).__name__}")
