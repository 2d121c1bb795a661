"""Where threads and items are in a Holdfast store. Names chosen by callers are quoted, so that none of them reaches into another's range."""

from __future__ import annotations

import hashlib
from urllib.parse import quote, unquote

from ..errors import invalid_input

_ROOT = "langgraph-py/"
_PART_MAX = 96
_ID_BYTES_MAX = 64
_NAMESPACE_MAX = 300


def _part(text: str) -> str:
    """A long name is replaced by its digest; the record holds the name itself. Quoting never begins with `%~`."""
    quoted = quote(text, safe="")
    return quoted if len(quoted) <= _PART_MAX else "%~" + hashlib.sha256(text.encode()).hexdigest()


def _newest_first(checkpoint_id: str) -> str:
    """The bytes of the id, complemented: a range in ascending order then begins with the newest checkpoint. `~` sorts after every digit, so a longer id comes first too."""
    given = checkpoint_id.encode()
    if not 0 < len(given) <= _ID_BYTES_MAX:
        raise invalid_input("checkpoint_id", f"must have 1 to {_ID_BYTES_MAX} bytes")
    return bytes(255 - each for each in given).hex() + "~"


def thread_resource(thread: str) -> str:
    return f"langgraph/{_part(thread)}"


def claimed_key(thread: str) -> str:
    """Present while the thread belongs to the holder of its lease."""
    return f"{_ROOT}claimed/{_part(thread)}"


def checkpoints_prefix(thread: str | None = None, ns: str | None = None) -> str:
    return f"{_ROOT}thread/" + _within(thread, ns)


def _within(thread: str | None, ns: str | None) -> str:
    return "".join(f"{_part(each)}/" for each in (thread, ns) if each is not None)


def checkpoint_key(thread: str, ns: str, checkpoint_id: str) -> str:
    """The writes of the checkpoint's tasks come right after it, so one range holds them all. No other checkpoint's key begins with this one."""
    return checkpoints_prefix(thread, ns) + _newest_first(checkpoint_id)


def checkpoint_key_in(key: str) -> str:
    """Of a checkpoint's own key, or of a write that belongs to it."""
    return "/".join(key.split("/", 5)[:5])


def age_of(key: str) -> str:
    """The part of a checkpoint's key that sorts the newest first, in whichever namespace it is."""
    return key.rsplit("/", 1)[1]


def write_key(thread: str, ns: str, checkpoint_id: str, task_id: str, slot: str) -> str:
    return f"{checkpoint_key(thread, ns, checkpoint_id)}/{_part(task_id)}/{slot}"


def after_writes(checkpoint: str) -> str:
    """Sorts after a checkpoint and its writes."""
    return f"{checkpoint}/\U0010ffff"


def slot_of(indexes: list[int]) -> str:
    """One entry for all ordinary writes of a task; repeating the call gives the same slot, and so does not write them twice."""
    return "w" + hashlib.sha256(",".join(map(str, indexes)).encode()).hexdigest()[:16]


def run_prefix(run_id: str) -> str:
    return f"{_ROOT}run/{_part(run_id)}/"


def run_key(run_id: str, thread: str, ns: str, checkpoint_id: str) -> str:
    return run_prefix(run_id) + _within(thread, ns) + _newest_first(checkpoint_id)


def items_prefix(namespace: tuple[str, ...]) -> str:
    """Items of the namespace itself and of those below it."""
    place = "".join(f"{quote(label, safe='')}/" for label in namespace)
    if len(place) > _NAMESPACE_MAX:
        raise invalid_input("namespace", f"must have at most {_NAMESPACE_MAX} bytes, percent-encoded")
    return f"{_ROOT}item/{place}"


def item_key(namespace: tuple[str, ...], key: str) -> str:
    # No quoted label begins with a colon, so items and deeper namespaces cannot be mistaken for each other.
    return f"{items_prefix(namespace)}:{_part(key)}"


def namespace_of(item: str) -> tuple[str, ...]:
    return tuple(unquote(label) for label in item[len(_ROOT) + len("item/") :].split("/")[:-1])


def after_items(namespace: tuple[str, ...]) -> str:
    """Sorts after every item of this namespace."""
    return f"{items_prefix(namespace)}:\U0010ffff"
