from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..aio import AsyncHoldfast
from ..errors import HoldfastError
from ..results import CommitRefused, LeaseRef, SetWrite
from ._keys import SessionKeys
from ._text import (
    COMMIT_CHUNKS_MAX,
    TRANSCRIPT_CHARACTERS_MAX,
    TRANSCRIPT_ENTRIES_MAX,
    EntryReader,
    Line,
    cut_text,
    too_large,
)

Fold = Callable[[Any, Any, Any], Any]
"""The SDK's `fold_session_summary`."""
Head = dict[str, Any]

# Several rounds are lost only if other writers change the transcript without its lease.
_ROUNDS_MAX = 8
_READ_CHUNKS_MAX = 100
_SUMMARY_CHARACTERS_MAX = 65_536
# Summaries of the SDK's other packages have another form.
_DIALECT = "python"


@dataclass
class _Seen:
    """What is known about a stored transcript, as of one version of its head."""

    version: int
    head: Head | None
    uuids: set[str]


@dataclass
class _Plan:
    head: Head
    uuids: set[str]
    base: _Seen
    commits: list[list[SetWrite]]
    lease: LeaseRef
    version: int
    done: int = 0
    request_key: str = field(default_factory=lambda: secrets.token_hex(16))


@dataclass
class Batch:
    """A call of `append`, until it is stored. Its plan is kept when an answer is lost, so that a repetition has no second effect."""

    lines: list[Line]
    entries: list[Mapping[str, Any]]
    plan: _Plan | None = None


class Transcript:
    """One transcript: a head and chunks of text. Every commit requires the lease and the version of the head that was seen, so no batch is stored
    twice, torn or out of order."""

    def __init__(self, client: AsyncHoldfast, session: SessionKeys, subpath: str | None, fold: Fold | None) -> None:
        self._state = client.state
        self._session = session
        self._keys = session.transcript(subpath)
        self._fold = fold if subpath is None else None
        self._seen: _Seen | None = None

    async def exists(self) -> bool:
        return await self._state.get(self._keys.head) is not None

    async def read(self) -> list[dict[str, Any]] | None:
        """All entries in order; None if the transcript was never written or was deleted."""
        for _ in range(_ROUNDS_MAX):
            entry = await self._state.get(self._keys.head)
            if entry is None:
                self._seen = None
                return None
            head = read_head(entry.value, self._keys.head)
            entries = await self._read_chunks(head)
            # It was deleted meanwhile; the next round sees what there is now.
            if entries is None:
                continue
            self._seen = _Seen(entry.version, head, {each["uuid"] for each in entries if isinstance(each.get("uuid"), str)})
            return entries if head["entries"] > 0 else None
        raise HoldfastError("conflict", f'The transcript "{self._keys.head}" kept changing while it was read.')

    async def append(self, batch: Batch, lease: LeaseRef) -> None:
        """Stores the entries of a batch that are not stored yet. After a failure, call it again with the same batch."""
        for _ in range(_ROUNDS_MAX):
            plan = batch.plan
            if plan is None:
                plan = batch.plan = await self._plan(batch, lease)
            if plan is None:
                return
            if await self._send(plan, lease):
                plan.base.uuids |= plan.uuids
                self._seen = _Seen(plan.version, plan.head, plan.base.uuids)
                return
            batch.plan = None
            self._seen = None
        raise HoldfastError(
            "conflict",
            f'Other writers kept changing the transcript "{self._keys.head}"; the batch was not stored.',
            hint="Change transcripts only through a session store.",
        )

    async def _plan(self, batch: Batch, lease: LeaseRef) -> _Plan | None:
        if self._seen is None:
            await self.read()
        base = self._seen or _Seen(0, None, set())
        uuids: set[str] = set()
        fresh: list[tuple[str, Mapping[str, Any]]] = []
        for line, entry in zip(batch.lines, batch.entries):
            if line.uuid is not None:
                if line.uuid in base.uuids or line.uuid in uuids:
                    continue
                uuids.add(line.uuid)
            fresh.append((line.text, entry))
        if not fresh:
            return None
        text = "".join(line for line, _ in fresh)
        before = base.head or _new_head(self._session, self._keys.subpath)
        chunks = cut_text(text)
        after = {
            **before,
            "chunks": before["chunks"] + len(chunks),
            "entries": before["entries"] + len(fresh),
            "characters": before["characters"] + len(text),
        }
        if after["characters"] > TRANSCRIPT_CHARACTERS_MAX:
            raise too_large("entries", f"a transcript may have {TRANSCRIPT_CHARACTERS_MAX} characters of JSON")
        if after["entries"] > TRANSCRIPT_ENTRIES_MAX:
            raise too_large("entries", f"a transcript may have {TRANSCRIPT_ENTRIES_MAX} entries")
        head = await self._summarized(before, after, [entry for _, entry in fresh])
        puts = [SetWrite(key=self._keys.chunk(before["generation"], before["chunks"] + i), value=chunk) for i, chunk in enumerate(chunks)]
        groups = [puts[start : start + COMMIT_CHUNKS_MAX] for start in range(0, len(puts), COMMIT_CHUNKS_MAX)]
        # Every commit writes the head, so that its version excludes any other writer; only the last one makes the batch part of the transcript.
        commits = [[*group, SetWrite(key=self._keys.head, value=head if i == len(groups) - 1 else before)] for i, group in enumerate(groups)]
        return _Plan(head, uuids, base, commits, lease, base.version)

    async def _send(self, plan: _Plan, current: LeaseRef) -> bool:
        """True once it is stored; False if it was refused, so that nothing of it became part of the transcript."""
        while plan.done < len(plan.commits):
            try:
                committed = await self._state.commit(
                    plan.commits[plan.done],
                    expected={self._keys.head: plan.version},
                    leases=[plan.lease],
                    request_key=f"{plan.request_key}-{plan.done}",
                )
            except HoldfastError as error:
                # The plan was made under an earlier lease of this store. It was not carried out, and no longer can be.
                if error.code == "lease_lost" and plan.lease.token != current.token:
                    return False
                raise
            if isinstance(committed, CommitRefused):
                return False
            plan.version = committed.results[-1].version
            plan.done += 1
        return True

    async def _summarized(self, before: Head, after: Head, fresh: Sequence[Mapping[str, Any]]) -> Head:
        if self._fold is None:
            return after
        key = {"project_key": self._session.project_key, "session_id": self._session.session_id}
        summaries: dict[str, Any] = dict(before.get("summaries") or {})
        last = summaries.pop(_DIALECT, None)
        # Entries that a store in another language or without the function appended are folded in now.
        is_current = before["entries"] == 0 or (last is not None and last["entries"] == before["entries"])
        previous = {"session_id": self._session.session_id, "mtime": 0, "data": last["data"]} if is_current and last is not None else None
        missed = [] if is_current else await self._read_chunks(before) or []
        data = self._fold(previous, key, [*missed, *fresh])["data"]
        if len(json.dumps(data)) <= _SUMMARY_CHARACTERS_MAX:
            summaries[_DIALECT] = {"entries": after["entries"], "data": data}
        return {**after, "summaries": summaries}

    async def _read_chunks(self, head: Head) -> list[dict[str, Any]] | None:
        """None if chunks are missing, because the transcript was deleted meanwhile."""
        entries: list[dict[str, Any]] = []
        reader = EntryReader()
        generation, count = head["generation"], head["chunks"]
        read = 0
        while read < count:
            page = await self._state.list(
                prefix=f"{self._keys.chunks}{generation}/",
                limit=min(_READ_CHUNKS_MAX, count - read),
                after=None if read == 0 else self._keys.chunk(generation, read - 1),
            )
            for entry in page.entries:
                if entry.key != self._keys.chunk(generation, read) or not isinstance(entry.value, str):
                    return None
                entries.extend(reader.entries_in(entry.value))
                read += 1
            if not page.entries:
                return None
        return entries


def read_head(value: object, key: str) -> Head:
    is_head = (
        isinstance(value, dict)
        and all(isinstance(value.get(name), str) for name in ("projectKey", "sessionId", "generation"))
        and all(isinstance(value.get(name), int) for name in ("chunks", "entries", "characters"))
        and isinstance(value.get("subpath", ""), str)
    )
    if not isinstance(value, dict) or not is_head:
        raise HoldfastError("store_damaged", f'The state key "{key}" does not hold the head of a transcript.', hint="Delete the key, or restore it.")
    return value


def summary_in(head: Head, mtime: int) -> dict[str, Any] | None:
    """The current summary in this language, if the head has one."""
    summary = (head.get("summaries") or {}).get(_DIALECT)
    if summary is None or summary["entries"] != head["entries"]:
        return None
    return {"session_id": head["sessionId"], "mtime": mtime, "data": summary["data"]}


def _new_head(session: SessionKeys, subpath: str | None) -> Head:
    # Distinguishes the chunks of a transcript from those of a deleted one under the same name.
    generation = secrets.token_hex(6)
    named = {"projectKey": session.project_key, "sessionId": session.session_id, **({} if subpath is None else {"subpath": subpath})}
    return {**named, "generation": generation, "chunks": 0, "entries": 0, "characters": 0}
