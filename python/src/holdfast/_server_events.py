"""Server-sent events, as bytes arrive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .errors import HoldfastError

_EVENT_BYTES_MAX = 64 * 1024 * 1024


class ServerEvent(NamedTuple):
    id: str | None
    event: str | None
    data: str


class EventParser:
    """The server ends lines in LF and sends each event's data as one line of JSON; a line is cut only once it is whole."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._fields: dict[str, str] = {}

    def push(self, piece: bytes) -> Iterator[ServerEvent]:
        searched = len(self._rest)
        self._rest += piece
        while (end := self._rest.find(b"\n", searched)) >= 0:
            line = bytes(self._rest[:end])
            del self._rest[: end + 1]
            searched = 0
            text = line.removesuffix(b"\r").decode()
            if text == "":
                if self._fields:
                    yield ServerEvent(self._fields.get("id"), self._fields.get("event"), self._fields.get("data", ""))
                self._fields = {}
                continue
            name, _, value = text.partition(":")
            if name != "":
                self._fields[name] = value.removeprefix(" ")
        if len(self._rest) > _EVENT_BYTES_MAX:
            raise HoldfastError("limit_exceeded", f"An event of the watch has more than {_EVENT_BYTES_MAX} bytes.")
