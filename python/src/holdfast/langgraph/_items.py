"""The rules of LangGraph's store that need no connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from langgraph.store.base import Item, MatchCondition, SearchItem

from .._wire import Json
from ..errors import invalid_input


@dataclass(frozen=True)
class StoredItem:
    namespace: tuple[str, ...]
    key: str
    value: dict[str, Any]
    created_at: float
    updated_at: float
    ttl: float | None
    """In minutes, as LangGraph counts it."""

    def to_json(self) -> dict[str, Json]:
        return {
            "namespace": list(self.namespace),
            "key": self.key,
            "value": self.value,
            "createdAt": self.created_at,
            "updatedAt": self.updated_at,
            "ttl": self.ttl,
        }

    def item(self) -> Item:
        created, updated = _moment(self.created_at), _moment(self.updated_at)
        return Item(value=self.value, key=self.key, namespace=self.namespace, created_at=created, updated_at=updated)

    def search_item(self) -> SearchItem:
        created, updated = _moment(self.created_at), _moment(self.updated_at)
        return SearchItem(namespace=self.namespace, key=self.key, value=self.value, created_at=created, updated_at=updated)


def item_in(value: Any) -> StoredItem:
    return StoredItem(tuple(value["namespace"]), value["key"], value["value"], value["createdAt"], value["updatedAt"], value["ttl"])


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, timezone.utc)


def fits(value: Mapping[str, Any], filter: Mapping[str, Any] | None) -> bool:
    return all(_fits_one(value.get(name), wanted) for name, wanted in (filter or {}).items())


def _fits_one(value: Any, wanted: Any) -> bool:
    if not isinstance(wanted, Mapping):
        return bool(value == (list(wanted) if isinstance(wanted, tuple) else wanted))
    if any(str(name).startswith("$") for name in wanted):
        return all(_compares(value, operator, operand) for operator, operand in wanted.items())
    return isinstance(value, Mapping) and fits(value, wanted)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": lambda a, b: a > b,
    "$gte": lambda a, b: a >= b,
    "$lt": lambda a, b: a < b,
    "$lte": lambda a, b: a <= b,
}


def _compares(value: Any, operator: str, operand: Any) -> bool:
    if operator == "$eq":
        return bool(value == operand)
    if operator == "$ne":
        return bool(value != operand)
    if operator not in _COMPARISONS:
        raise invalid_input("filter", f"{operator} must be one of $eq, $ne, {', '.join(_COMPARISONS)}")
    try:
        return _COMPARISONS[operator](value, operand)
    except TypeError:
        # A text is neither above nor below a number, nor is what is not there.
        return False


def matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = condition.path
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))


def known_prefix(conditions: tuple[MatchCondition, ...]) -> tuple[str, ...]:
    """What every namespace that fits begins with, so that no others are read."""
    longest: tuple[str, ...] = ()
    for condition in conditions:
        if condition.match_type == "prefix":
            known = condition.path[: condition.path.index("*")] if "*" in condition.path else condition.path
            longest = max(longest, tuple(known), key=len)
    return longest
