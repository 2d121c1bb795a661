"""Between the names and units of Python and those of the server: `ttl=1.5` is sent as `"ttlMs": 1500`."""

from __future__ import annotations

import dataclasses
import functools
import keyword
import math
import re
import types
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints, overload

from .errors import HoldfastError, invalid_input

if TYPE_CHECKING:
    # Sequence and Mapping, so that a list[str] is Json too; what is sent must be lists, tuples and dicts.
    Json = Union[None, bool, int, float, str, Sequence["Json"], Mapping[str, "Json"]]
else:
    Json = Any

_MILLISECONDS = "milliseconds on the wire"
Seconds = Annotated[float, _MILLISECONDS]
"""A duration, or a moment since 1970, in seconds."""

_A = TypeVar("_A")
_B = TypeVar("_B")
_C = TypeVar("_C")
_D = TypeVar("_D")


def python_name(wire: str) -> str:
    """`expiresAtMs` is `expires_at` here: times are seconds, as everywhere in Python."""
    name = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", wire.removesuffix("Ms")).lower()
    return f"{name}_" if keyword.iskeyword(name) else name


def wire_name(name: str, is_time: bool) -> str:
    first, *others = name.rstrip("_").split("_")
    return first + "".join(part.capitalize() for part in others) + ("Ms" if is_time else "")


def milliseconds(seconds: object, field: str) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not math.isfinite(seconds):
        raise invalid_input(field, "must be a finite number of seconds")
    # Six digits: what is left of a nanosecond is a rounding error of the multiplication.
    exact = round(float(seconds) * 1000, 6)
    return int(exact) if exact.is_integer() else exact


@dataclasses.dataclass(frozen=True)
class _Field:
    name: str
    wire: str
    is_time: bool
    decode: Callable[[Any], Any] | None


_known: dict[type, tuple[_Field, ...]] = {}


def _fields(cls: type) -> tuple[_Field, ...]:
    if cls not in _known:
        _known[cls] = _read_fields(cls)
    return _known[cls]


def _read_fields(cls: Any) -> tuple[_Field, ...]:
    hints = get_type_hints(cls, include_extras=True)
    made = []
    for field in dataclasses.fields(cls):
        hint = _without_none(hints[field.name])
        is_time = get_origin(hint) is Annotated and _MILLISECONDS in get_args(hint)
        made.append(_Field(field.name, wire_name(field.name, is_time), is_time, _decoder_of(hint)))
    return tuple(made)


def _without_none(hint: Any) -> Any:
    if get_origin(hint) not in (Union, types.UnionType):
        return hint
    rest = [each for each in get_args(hint) if each is not type(None)]
    return rest[0] if len(rest) == 1 else hint


def _decoder_of(hint: Any) -> Callable[[Any], Any] | None:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return functools.partial(_decode_one, hint)
    if get_origin(hint) is list:
        (item,) = get_args(hint)
        each = _decoder_of(item)
        return None if each is None else lambda items: [each(one) for one in items]
    return None


def _decode_one(cls: type[_A], given: Mapping[str, Any]) -> _A:
    members = {}
    for field in _fields(cls):
        # Members that this client does not know are left out: a newer server may send more.
        if field.wire not in given:
            continue
        value = given[field.wire]
        if value is not None and field.is_time:
            value = value / 1000
        elif value is not None and field.decode is not None:
            value = field.decode(value)
        members[field.name] = value
    return cls(**members)


def _fits(cls: type, given: Mapping[str, Any]) -> bool:
    """By its members of a literal type: `ok`, `outcome`."""
    return all(given.get(name) == value for name, value in _marks(cls).items())


@functools.lru_cache(maxsize=None)
def _marks(cls: type) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {name: get_args(hint)[0] for name, hint in hints.items() if get_origin(hint) is Literal and len(get_args(hint)) == 1}


@overload
def decoder(a: type[_A], /) -> Callable[[Any], _A]: ...
@overload
def decoder(a: type[_A], b: type[_B], /) -> Callable[[Any], _A | _B]: ...
@overload
def decoder(a: type[_A], b: type[_B], c: type[_C], d: type[_D], /) -> Callable[[Any], _A | _B | _C | _D]: ...
def decoder(*classes: type) -> Callable[[Any], Any]:
    """Reads an answer of the server as whichever of the classes it is."""

    def decode(given: Any) -> Any:
        if isinstance(given, dict):
            for cls in classes:
                if _fits(cls, given):
                    return _decode_one(cls, given)
        raise HoldfastError("internal", f"The server's answer is no {' or '.join(each.__name__ for each in classes)}; it may be newer than this client.")

    return decode


def or_none(decode: Callable[[Any], _A]) -> Callable[[Any], _A | None]:
    return lambda given: None if given is None else decode(given)


def encode(value: Any) -> Any:
    """A result, or an argument made of such, as the server spells it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        members = ((field, getattr(value, field.name)) for field in _fields(type(value)))
        return {field.wire: milliseconds(member, field.name) if field.is_time else encode(member) for field, member in members if member is not None}
    if isinstance(value, (list, tuple)):
        return [encode(each) for each in value]
    return value
