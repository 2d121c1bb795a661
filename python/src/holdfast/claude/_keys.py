"""The state keys of sessions. The TypeScript store uses the same ones: hosts in both languages share sessions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from ..errors import invalid_input

_NAME_CHARACTERS_MAX = 1_024
# Longer parts of a key are replaced by their digest, so that every key stays within the store's limit.
_PART_CHARACTERS_MAX = 100


@dataclass(frozen=True)
class TranscriptKeys:
    head: str
    subpath: str | None
    chunks: str
    """Prefix of the text, before the generation."""

    def chunk(self, generation: str, index: int) -> str:
        return f"{self.chunks}{generation}/{index:08d}"


@dataclass(frozen=True)
class SessionKeys:
    project_key: str
    session_id: str
    path: str

    @property
    def resource(self) -> str:
        """The lease on the session."""
        return f"claude/{self.path}"

    @property
    def owner(self) -> str:
        """Names the store that last began to work on the session."""
        return f"claude/owner/{self.path}"

    @property
    def subheads(self) -> str:
        return f"claude/subagent/{self.path}/"

    @property
    def chunks(self) -> str:
        return f"claude/chunk/{self.path}/"

    def transcript(self, subpath: str | None) -> TranscriptKeys:
        # No encoded name is a single tilde, so the main transcript cannot be confused with a subagent's.
        part = "~" if subpath is None else _part("subpath", subpath)
        head = main_heads(self.project_key) + _part("session_id", self.session_id) if subpath is None else self.subheads + part
        return TranscriptKeys(head, subpath, f"{self.chunks}{part}/")


def main_heads(project_key: object) -> str:
    """Prefix of the heads of a project's main transcripts."""
    return f"claude/session/{_part('project_key', project_key)}/"


def session_keys(key: Mapping[str, object]) -> SessionKeys:
    path = f"{_part('project_key', key.get('project_key'))}/{_part('session_id', key.get('session_id'))}"
    return SessionKeys(str(key["project_key"]), str(key["session_id"]), path)


def subpath_of(key: Mapping[str, object]) -> str | None:
    subpath = key.get("subpath")
    if subpath is None:
        return None
    _part("subpath", subpath)
    return str(subpath)


def _part(field: str, name: object) -> str:
    allowed = f"must be a non-empty string of at most {_NAME_CHARACTERS_MAX} characters, without lone surrogates"
    # Counted as in TypeScript, so that both accept the same names.
    if not isinstance(name, str) or name == "" or len(name) + sum(character > "\uffff" for character in name) > _NAME_CHARACTERS_MAX:
        raise invalid_input(field, allowed)
    try:
        readable = quote(name, safe="!*'()").replace("~", "%7E")
    except UnicodeEncodeError:
        raise invalid_input(field, allowed) from None
    return readable if len(readable) <= _PART_CHARACTERS_MAX else f"~{hashlib.sha256(name.encode()).hexdigest()[:40]}"
