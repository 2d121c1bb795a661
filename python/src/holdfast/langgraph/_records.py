"""What is stored for a checkpoint and for the writes of a task, as JSON."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._wire import Json
from ._keys import slot_of

Typed = tuple[str, bytes]
"""What a serializer of LangGraph makes of a value: how it is written, and its bytes."""
REPLACED = "s"
"""Begins the slot of a write that a later one replaces."""


@dataclass(frozen=True)
class CheckpointRecord:
    thread: str
    ns: str
    id: str
    parent: str | None
    run: str | None
    checkpoint: Typed
    """Without the channel values."""
    metadata: Typed
    channels: Mapping[str, Typed]
    """Every channel that has a value, so that a checkpoint can be read, copied and kept without those before it."""

    def to_json(self) -> dict[str, Json]:
        return {
            **{"thread": self.thread, "ns": self.ns, "id": self.id, "parent": self.parent, "run": self.run},
            "checkpoint": _to_text(self.checkpoint),
            "metadata": _to_text(self.metadata),
            "channels": {name: _to_text(value) for name, value in self.channels.items()},
        }


def checkpoint_in(value: Any) -> CheckpointRecord:
    return CheckpointRecord(
        thread=value["thread"],
        ns=value["ns"],
        id=value["id"],
        parent=value["parent"],
        run=value["run"],
        checkpoint=_from_text(value["checkpoint"]),
        metadata=_from_text(value["metadata"]),
        channels={name: _from_text(each) for name, each in value["channels"].items()},
    )


@dataclass(frozen=True)
class TaskWrite:
    index: int
    """Its place among the task's writes; negative for an error, an interrupt and the like, of which the last one counts."""
    channel: str
    value: Typed


@dataclass(frozen=True)
class TaskWrites:
    task: str
    path: str
    writes: Sequence[TaskWrite]
    revision: int = 0

    def to_json(self) -> dict[str, Json]:
        return {"task": self.task, "path": self.path, "writes": [[each.index, each.channel, _to_text(each.value)] for each in self.writes]}

    def by_slot(self) -> Iterator[tuple[str, TaskWrites]]:
        """As they are stored: the ordinary ones together, under a name that a repeated call gives again, and each of the others by itself, to be replaced."""
        ordinary = [write for write in self.writes if write.index >= 0]
        if ordinary:
            yield slot_of([write.index for write in ordinary]), TaskWrites(self.task, self.path, ordinary)
        for index, write in {write.index: write for write in self.writes if write.index < 0}.items():
            yield f"{REPLACED}{-index}", TaskWrites(self.task, self.path, [write])


def task_writes_in(value: Any, revision: int) -> TaskWrites:
    writes = [TaskWrite(index, channel, _from_text(each)) for index, channel, each in value["writes"]]
    return TaskWrites(value["task"], value["path"], writes, revision)


def by_task(stored: Sequence[TaskWrites]) -> list[TaskWrites]:
    """The writes of each task, in the order in which LangGraph applies them. Of two writes in one place the first counts."""
    tasks: dict[tuple[str, str], dict[int, TaskWrite]] = {}
    for each in sorted(stored, key=lambda one: one.revision):
        placed = tasks.setdefault((each.path, each.task), {})
        for write in each.writes:
            placed.setdefault(write.index, write)
    return [TaskWrites(task, path, [placed[index] for index in sorted(placed)]) for (path, task), placed in sorted(tasks.items())]


def _to_text(value: Typed) -> list[Json]:
    return [value[0], b64encode(value[1]).decode("ascii")]


def _from_text(value: Any) -> Typed:
    return value[0], b64decode(value[1])
