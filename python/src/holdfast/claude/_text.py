"""A transcript is stored as text, one line of JSON per entry, cut into chunks. As text, an entry may be larger, deeper or wider than a value of
the store, and comes back digit for digit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import HoldfastError, invalid_input

# The same as in TypeScript. A chunk fits into a value even if every character takes four bytes, and three into one request even if each is sent as an escape.
CHUNK_CHARACTERS_MAX = 200_000
COMMIT_CHUNKS_MAX = 3
BATCH_CHARACTERS_MAX = 67_108_864
BATCH_ENTRIES_MAX = 100_000
TRANSCRIPT_CHARACTERS_MAX = 268_435_456
TRANSCRIPT_ENTRIES_MAX = 1_000_000


@dataclass(frozen=True)
class Line:
    uuid: str | None
    text: str
    """With its line break."""


def to_lines(entries: Sequence[Mapping[str, Any]]) -> list[Line]:
    """Every entry is turned into text before anything is stored, so that a batch with an invalid entry changes nothing."""
    if not isinstance(entries, Sequence) or isinstance(entries, (str, bytes)):
        raise invalid_input("entries", "must be a list")
    if len(entries) > BATCH_ENTRIES_MAX:
        raise too_large("entries", f"one call may append {BATCH_ENTRIES_MAX} entries")
    lines: list[Line] = []
    characters = 0
    for i, entry in enumerate(entries):
        text = _json(entry)
        if text is None:
            raise invalid_input(f"entries[{i}]", "must be an object of JSON")
        characters += len(text) + 1
        if characters > BATCH_CHARACTERS_MAX:
            raise too_large("entries", f"one call may append {BATCH_CHARACTERS_MAX} characters of JSON")
        uuid = entry.get("uuid")
        lines.append(Line(uuid if isinstance(uuid, str) else None, f"{text}\n"))
    return lines


def _json(entry: object) -> str | None:
    if not isinstance(entry, Mapping):
        return None
    try:
        text = json.dumps(entry, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        # Lone surrogates are stored as escapes.
        return json.dumps(entry, allow_nan=False, separators=(",", ":"))
    return text


def too_large(field: str, allowed: str) -> HoldfastError:
    return HoldfastError("limit_exceeded", f"{field}: {allowed}; nothing was changed.", details={"field": field})


def cut_text(text: str) -> list[str]:
    return [text[start : start + CHUNK_CHARACTERS_MAX] for start in range(0, len(text), CHUNK_CHARACTERS_MAX)]


class EntryReader:
    """Turns chunks back into entries as they arrive: only the rest of a line is kept in between."""

    def __init__(self) -> None:
        self._rest: list[str] = []

    def entries_in(self, chunk: str) -> list[dict[str, Any]]:
        *lines, rest = chunk.split("\n")
        if not lines:
            self._rest.append(rest)
            return []
        lines[0] = "".join(self._rest) + lines[0]
        self._rest = [rest] if rest else []
        return [json.loads(line) for line in lines]
