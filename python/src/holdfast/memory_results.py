"""What the calls of the journal, research, knowledge and `resume` return. Times are seconds since 1970."""

from __future__ import annotations

from dataclasses import dataclass

from ._wire import Json, Seconds


@dataclass(frozen=True, kw_only=True)
class WorkspaceRef:
    id: str
    name: str
    hint: str | None = None


@dataclass(frozen=True, kw_only=True)
class EntrySaved:
    id: str
    workspace: WorkspaceRef
    session_id: str
    session_highlights: int
    dropped_highlights: int
    created_at: Seconds
    revision: int
    git_branch: str | None = None
    git_commit: str | None = None
    expires_at: Seconds | None = None


@dataclass(frozen=True, kw_only=True)
class JournalEntry:
    id: str
    description: str
    highlights: list[str]
    active_files: list[str]
    tags: list[str]
    session_id: str
    workspace: WorkspaceRef
    global_: bool
    """Seen from every workspace."""
    created_at: Seconds
    revision: int
    writer: str
    agent: str | None = None
    git_branch: str | None = None
    git_commit: str | None = None
    work_context: str | None = None
    questions: list[str] | None = None
    expires_at: Seconds | None = None


@dataclass(frozen=True, kw_only=True)
class EntryPage:
    entries: list[JournalEntry]
    revision: int
    next: str | None = None
    """Give it back as `before` for the next page."""


@dataclass(frozen=True, kw_only=True)
class EntryHit:
    entry: JournalEntry
    score: float
    why: list[str]


@dataclass(frozen=True, kw_only=True)
class EntryHits:
    hits: list[EntryHit]
    revision: int


@dataclass(frozen=True, kw_only=True)
class Highlights:
    highlights: list[str]
    revision: int
    dropped: int
    """How many older ones had to make room."""


@dataclass(frozen=True, kw_only=True)
class CheckpointSaved:
    checkpoint_id: str
    duplicate_of: str | None = None
    path: str | None = None
    """The readable copy beside a store that is a file, on the server's machine."""
    warning: str | None = None


@dataclass(frozen=True, kw_only=True)
class CheckpointSummary:
    id: str
    thesis: str
    confidence: float
    trigger: str
    saved_at: Seconds
    skill: str | None = None
    workspace: str | None = None


@dataclass(frozen=True, kw_only=True)
class CheckpointPage:
    checkpoints: list[CheckpointSummary]
    next: str | None = None


@dataclass(frozen=True, kw_only=True)
class ResearchCheckpoint:
    id: str
    core_question: str
    thesis: str
    confidence: float
    trigger: str
    open_questions: list[str]
    sources: list[dict[str, Json]]
    tensions: list[dict[str, Json]]
    unique_contributions: list[dict[str, Json]]
    saved_at: Seconds
    writer: str
    agent: str | None = None
    action: dict[str, Json] | None = None
    skill: str | None = None
    workspace: str | None = None
    continues: str | None = None
    questions: list[str] | None = None


@dataclass(frozen=True, kw_only=True)
class LoadedCheckpoint:
    checkpoint: ResearchCheckpoint
    context: str
    """The same as a text to continue from, with stored text marked as such."""


@dataclass(frozen=True, kw_only=True)
class NoteSaved:
    name: str
    version: int
    superseded: str | None = None
    path: str | None = None
    warning: str | None = None


@dataclass(frozen=True, kw_only=True)
class Note:
    id: str
    content: str
    keywords: list[str]
    status: str
    trust: str
    version: int
    saved_at: Seconds
    writer: str
    agent: str | None = None
    skill: str | None = None
    questions: list[str] | None = None
    source: str | None = None
    supersedes: str | None = None
    superseded_by: str | None = None


@dataclass(frozen=True, kw_only=True)
class RecalledNote(Note):
    tokens: int
    score: float
    """Comparable within one answer only."""
    why: list[str]
    revision: int


@dataclass(frozen=True, kw_only=True)
class PossibleNote:
    id: str
    title: str
    why: list[str]
    skill: str | None = None


@dataclass(frozen=True, kw_only=True)
class Recall:
    notes: list[RecalledNote]
    maybe: list[PossibleNote]
    total_tokens: int
    omitted: int
    now: Seconds
    context: str
    """The same as a text, stored words marked as such."""


@dataclass(frozen=True, kw_only=True)
class ResumeText:
    text: str
    tokens: int
    shown: dict[str, int]
    omitted: int
    revision: int
    workspace: WorkspaceRef
