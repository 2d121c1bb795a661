"""What the calls of state, leases, workflows, effects, sessions, history and health return. Times are seconds since 1970.

A result with several forms is a union; `ok` or `outcome` tells them apart, and so does `isinstance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypedDict, Union

from ._wire import Json, Seconds

RunStatus = Literal["created", "claimed", "running", "done", "failed", "cancelled"]
EffectState = Literal["unknown", "intended", "done", "failed"]
EffectPolicy = Literal["ask", "retry", "assume-done"]
HistoryKind = Literal["state", "lease", "workflow", "effect", "session", "checkpoint", "knowledge"]


class LeaseLike(Protocol):
    """A lease or claim with its fencing token: a `LeaseRef`, an acquired lease, `run.claim`."""

    @property
    def resource(self) -> str: ...
    @property
    def token(self) -> int: ...


@dataclass(frozen=True)
class LeaseRef:
    resource: str
    token: int


@dataclass(frozen=True, kw_only=True)
class StateEntry:
    key: str
    value: Json
    version: int
    revision: int
    updated_at: Seconds
    updated_by: str
    """The authenticated writer."""
    agent: str | None = None
    """The name that the writer gave itself."""
    expires_at: Seconds | None = None


@dataclass(frozen=True, kw_only=True)
class CurrentEntry:
    """As `StateEntry`; `value` is left out where it is long."""

    key: str
    version: int
    revision: int
    updated_at: Seconds
    updated_by: str
    value: Json = None
    agent: str | None = None
    expires_at: Seconds | None = None


@dataclass(frozen=True, kw_only=True)
class VersionConflict:
    ok: Literal[False] = False
    key: str
    expected_version: int
    actual_version: int
    current: CurrentEntry | None = None


@dataclass(frozen=True, kw_only=True)
class StateSet:
    ok: Literal[True] = True
    key: str
    version: int
    revision: int
    expires_at: Seconds | None = None


@dataclass(frozen=True, kw_only=True)
class StateDeleted:
    ok: Literal[True] = True
    deleted: bool
    """False: there was nothing to delete."""
    revision: int


@dataclass(frozen=True, kw_only=True)
class StatePage:
    entries: list[StateEntry]
    more: bool
    revision: int


@dataclass(frozen=True, kw_only=True)
class SetWrite:
    """For `state.commit`."""

    op: Literal["set"] = "set"
    key: str
    value: Json
    ttl: Seconds | None = None
    blobs: Sequence[str] | None = None
    """Hashes of the blobs that the entry names."""


@dataclass(frozen=True, kw_only=True)
class DeleteWrite:
    """For `state.commit`."""

    op: Literal["delete"] = "delete"
    key: str


@dataclass(frozen=True, kw_only=True)
class CommittedWrite:
    key: str
    version: int
    existed: bool
    expires_at: Seconds | None = None


@dataclass(frozen=True, kw_only=True)
class StateCommitted:
    ok: Literal[True] = True
    revision: int
    results: list[CommittedWrite]


@dataclass(frozen=True, kw_only=True)
class CommitRefused:
    ok: Literal[False] = False
    conflicts: list[VersionConflict]


@dataclass(frozen=True, kw_only=True)
class StateChange:
    revision: int
    key: str
    op: Literal["set", "delete", "expire"]
    version: int
    """Of a set: the version written. Of the others: the version that ended."""
    value: Json
    changed_at: Seconds
    changed_by: str
    expires_at: Seconds | None = None


@dataclass(frozen=True, kw_only=True)
class WaitedState:
    has_happened: bool
    entry: StateEntry | None = None


@dataclass(frozen=True, kw_only=True)
class BlobRef:
    """Content by its SHA-256, in lower-case hexadecimal digits."""

    hash: str
    bytes: int


@dataclass(frozen=True, kw_only=True)
class FoundBlob:
    hash: str
    bytes: int
    chunks: list[str]
    """The hashes of its chunks, in order."""


@dataclass(frozen=True, kw_only=True)
class ChunksPut:
    hashes: list[str]


@dataclass(frozen=True, kw_only=True)
class BlobAssembled:
    ok: Literal[True] = True
    hash: str
    bytes: int


@dataclass(frozen=True, kw_only=True)
class ChunksMissing:
    ok: Literal[False] = False
    missing: list[str]


@dataclass(frozen=True, kw_only=True)
class LeaseAcquired:
    ok: Literal[True] = True
    resource: str
    holder: str
    token: int
    """Pass it with every write: a replaced holder's writes are refused."""
    expires_at: Seconds
    renewed: bool
    """This agent held it already."""


@dataclass(frozen=True, kw_only=True)
class LeaseRefused:
    ok: Literal[False] = False
    resource: str
    held_by: str | None = None
    """None: the lease is free, but others are waiting in line for it."""
    expires_at: Seconds | None = None
    queue_position: int | None = None


@dataclass(frozen=True, kw_only=True)
class Renewed:
    ok: Literal[True] = True
    token: int
    expires_at: Seconds


@dataclass(frozen=True, kw_only=True)
class RenewalRefused:
    ok: Literal[False] = False
    held_by: str | None = None


@dataclass(frozen=True, kw_only=True)
class Released:
    released: bool


@dataclass(frozen=True, kw_only=True)
class LeaseHolder:
    resource: str
    holder: str
    expires_at: Seconds
    renewed_at: Seconds


@dataclass(frozen=True, kw_only=True)
class LeasePage:
    leases: list[LeaseHolder]
    more: bool


@dataclass(frozen=True, kw_only=True)
class RunCreated:
    run_id: str
    name: str
    status: RunStatus
    created: bool
    """False: a run with this id was there before."""


@dataclass(frozen=True, kw_only=True)
class RunView:
    run_id: str
    name: str
    status: RunStatus
    tags: dict[str, str]
    priority: int
    last_step: int
    attempts: int
    created_at: Seconds
    updated_at: Seconds
    place: str
    started_at: Seconds | None = None
    agent_id: str | None = None
    """The present or last holder."""
    token: int | None = None
    claim_expires_at: Seconds | None = None
    result: Json = None
    error: Json = None


@dataclass(frozen=True, kw_only=True)
class RunPage:
    runs: list[RunView]
    next: str | None = None
    """Give it back as `after` for the next page."""


@dataclass(frozen=True, kw_only=True)
class RunClaimed:
    ok: Literal[True] = True
    run_id: str
    agent_id: str
    token: int
    expires_at: Seconds
    extended: bool


@dataclass(frozen=True, kw_only=True)
class ClaimRefused:
    ok: Literal[False] = False
    run_id: str | None = None
    """None: there is no run to claim."""
    held_by: str | None = None
    expires_at: Seconds | None = None


@dataclass(frozen=True, kw_only=True)
class RunWoken:
    woken: bool


@dataclass(frozen=True, kw_only=True)
class StepSaved:
    run_id: str
    step: int
    last_step: int


@dataclass(frozen=True, kw_only=True)
class StepOutput:
    step: int
    output: Json


@dataclass(frozen=True, kw_only=True)
class RunResumed:
    view: RunView
    steps: list[StepOutput]
    more: bool
    input: Json = None


@dataclass(frozen=True, kw_only=True)
class RunFinished:
    run_id: str
    status: RunStatus
    attempts: int


class EffectAttempt(Protocol):
    """What `effects.begin` returned as begun, or an object with its id and token."""

    @property
    def id(self) -> str: ...
    @property
    def token(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class EffectBegun:
    """Durable: do it now, and report with the token."""

    outcome: Literal["begun"] = "begun"
    id: str
    token: int
    attempt: int
    live_until: Seconds


@dataclass(frozen=True, kw_only=True)
class EffectDone:
    """It was done before: the stored answer. `answer_kept` False: the answer could not be stored, and `answer` says why."""

    outcome: Literal["done"] = "done"
    id: str
    answer: Json
    answer_kept: bool
    done_at: Seconds
    attempts: int
    resolved: str | None = None


@dataclass(frozen=True, kw_only=True)
class EffectInFlight:
    """A live owner is doing it."""

    outcome: Literal["in_flight"] = "in_flight"
    id: str
    since: Seconds
    live_until: Seconds
    attempts: int
    agent: str | None = None


@dataclass(frozen=True, kw_only=True)
class EffectInDoubt:
    """Whether it happened is unknown: it has to be resolved first."""

    outcome: Literal["unknown"] = "unknown"
    id: str
    since: Seconds
    attempts: int
    agent: str | None = None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class EffectKeptAlive:
    live_until: Seconds


class DoneReport(TypedDict):
    state: Literal["done"]
    answer: Json


class FailedReport(TypedDict):
    """It is known not to have taken effect, and may be begun again."""

    state: Literal["failed"]
    error: Json


class UnknownReport(TypedDict):
    state: Literal["unknown"]
    reason: str


@dataclass(frozen=True, kw_only=True)
class EffectFinished:
    id: str
    state: EffectState


@dataclass(frozen=True, kw_only=True)
class EffectView:
    id: str
    state: EffectState
    tool: str
    args: str
    """As people are shown them."""
    attempts: int
    begun_at: Seconds
    writer: str
    scope: str | None = None
    run: str | None = None
    step: int | str | None = None
    ordinal: int | None = None
    name: str | None = None
    workspace: str | None = None
    agent: str | None = None
    reason: str | None = None
    resolved: str | None = None
    live_until: Seconds | None = None
    ended_at: Seconds | None = None
    kept_until: Seconds | None = None


@dataclass(frozen=True, kw_only=True)
class EffectDetail(EffectView):
    answer: Json = None
    answer_kept: bool | None = None


@dataclass(frozen=True, kw_only=True)
class EffectPage:
    effects: list[EffectView]
    revision: int
    now: Seconds
    next: str | None = None


@dataclass(frozen=True, kw_only=True)
class OnceDone:
    """`repeated`: it was done before, and this is the stored answer."""

    ok: Literal[True] = True
    id: str
    answer: Json
    repeated: bool
    answer_kept: bool
    attempts: int
    resolved: str | None = None


@dataclass(frozen=True, kw_only=True)
class OnceRefused:
    """`in_flight`: a live owner is doing it. `unknown`: it may have happened, and has to be resolved first."""

    ok: Literal[False] = False
    id: str
    reason: Literal["in_flight", "unknown"]
    since: Seconds
    attempts: int
    agent: str | None = None


@dataclass(frozen=True, kw_only=True)
class SessionSaved:
    ok: Literal[True] = True
    session_id: str
    version: int
    expires_at: Seconds | None = None


@dataclass(frozen=True, kw_only=True)
class SessionConflict:
    ok: Literal[False] = False
    session_id: str
    expected_version: int
    actual_version: int


@dataclass(frozen=True, kw_only=True)
class SavedSession:
    session_id: str
    context: dict[str, Json]
    version: int
    saved_at: Seconds
    updated_at: Seconds
    expires_at: Seconds | None = None


@dataclass(frozen=True, kw_only=True)
class HistoryCursor:
    revision: int
    seq: int


@dataclass(frozen=True, kw_only=True)
class HistoryEntry:
    stored_key: str
    revision: int
    seq: int
    kind: str
    op: str
    name: str
    version: int
    value: Json
    previous_value: Json
    writer: str
    at: Seconds
    agent: str | None = None


@dataclass(frozen=True, kw_only=True)
class HistoryPage:
    entries: list[HistoryEntry]
    total: int
    """Matching records in the history that is kept, counted up to 1,000."""
    next: HistoryCursor | None = None


@dataclass(frozen=True, kw_only=True)
class HealthWarning:
    about: str
    says: str


@dataclass(frozen=True, kw_only=True)
class Health:
    engine: str
    durability: str
    facts: dict[str, Json]
    warnings: list[HealthWarning]


SetResult = Union[StateSet, VersionConflict]
DeleteResult = Union[StateDeleted, VersionConflict]
CommitResult = Union[StateCommitted, CommitRefused]
CommitWrite = Union[SetWrite, DeleteWrite]
AssembleResult = Union[BlobAssembled, ChunksMissing]
AcquireResult = Union[LeaseAcquired, LeaseRefused]
RenewResult = Union[Renewed, RenewalRefused]
ClaimResult = Union[RunClaimed, ClaimRefused]
BegunEffect = Union[EffectBegun, EffectDone, EffectInFlight, EffectInDoubt]
EffectReport = Union[DoneReport, FailedReport, UnknownReport]
OnceResult = Union[OnceDone, OnceRefused]
SaveResult = Union[SessionSaved, SessionConflict]
