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


@dataclass(frozen=True)
class Stored:
    """A value as an entry holds it: its bytes, or the hash of the blob that does."""

    kind: str
    data: bytes | None
    blob: str | None


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
    channels: Mapping[str, Stored]
    """Every channel that has a value, so that a checkpoint can be read, copied and kept without those before it."""

    @property
    def blobs(self) -> list[str]:
        return [value.blob for value in self.channels.values() if value.blob is not None]

    def to_json(self) -> dict[str, Json]:
        return {
            **{"thread": self.thread, "ns": self.ns, "id": self.id, "parent": self.parent, "run": self.run},
            "checkpoint": [self.checkpoint[0], _text_of(self.checkpoint[1])],
            "metadata": [self.metadata[0], _text_of(self.metadata[1])],
            "channels": {name: _stored_to_json(value) for name, value in self.channels.items()},
        }


def checkpoint_in(value: Any) -> CheckpointRecord:
    return CheckpointRecord(
        thread=value["thread"],
        ns=value["ns"],
        id=value["id"],
        parent=value["parent"],
        run=value["run"],
        checkpoint=(value["checkpoint"][0], b64decode(value["checkpoint"][1])),
        metadata=(value["metadata"][0], b64decode(value["metadata"][1])),
        channels={name: _stored_in(each) for name, each in value["channels"].items()},
    )


@dataclass(frozen=True)
class TaskWrite:
    index: int
    """Its place among the task's writes; negative for an error, an interrupt and the like, of which the last one counts."""
    channel: str
    value: Stored


@dataclass(frozen=True)
class TaskWrites:
    task: str
    path: str
    writes: Sequence[TaskWrite]
    revision: int = 0

    @property
    def blobs(self) -> list[str]:
        return [write.value.blob for write in self.writes if write.value.blob is not None]

    def to_json(self) -> dict[str, Json]:
        return {"task": self.task, "path": self.path, "writes": [[each.index, each.channel, _stored_to_json(each.value)] for each in self.writes]}

    def by_slot(self) -> Iterator[tuple[str, TaskWrites]]:
        """As they are stored: the ordinary ones together, under a name that a repeated call gives again, and each of the others by itself, to be replaced."""
        ordinary = [write for write in self.writes if write.index >= 0]
        if ordinary:
            yield slot_of([write.index for write in ordinary]), TaskWrites(self.task, self.path, ordinary)
        for index, write in {write.index: write for write in self.writes if write.index < 0}.items():
            yield f"{REPLACED}{-index}", TaskWrites(self.task, self.path, [write])


def task_writes_in(value: Any, revision: int) -> TaskWrites:
    writes = [TaskWrite(index, channel, _stored_in(each)) for index, channel, each in value["writes"]]
    return TaskWrites(value["task"], value["path"], writes, revision)


def by_task(stored: Sequence[TaskWrites]) -> list[TaskWrites]:
    """The writes of each task, in the order in which LangGraph applies them. Of two writes in one place the first counts."""
    tasks: dict[tuple[str, str], dict[int, TaskWrite]] = {}
    for each in sorted(stored, key=lambda one: one.revision):
        placed = tasks.setdefault((each.path, each.task), {})
        for write in each.writes:
            placed.setdefault(write.index, write)
    return [TaskWrites(task, path, [placed[index] for index in sorted(placed)]) for (path, task), placed in sorted(tasks.items())]


def _stored_to_json(value: Stored) -> list[Json]:
    return [value.kind, _text_of(value.data)] if value.data is not None else [value.kind, None, value.blob]


def _stored_in(value: Any) -> Stored:
    return Stored(value[0], b64decode(value[1]), None) if value[1] is not None else Stored(value[0], None, value[2])


def _text_of(data: bytes) -> str:
    return b64encode(data).decode("ascii")
