from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from .._wire import Json, decoder, or_none
from ..memory_results import (
    CheckpointPage,
    CheckpointSaved,
    EntryHits,
    EntryPage,
    EntrySaved,
    Highlights,
    JournalEntry,
    LoadedCheckpoint,
    Note,
    NoteSaved,
    Recall,
)
from ..results import SavedSession, SaveResult, SessionConflict, SessionSaved
from ._calls import AsyncCalls


class AsyncSessions:
    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def save(
        self,
        session_id: str,
        context: Mapping[str, Json],
        *,
        ttl: float | None = None,
        expected_version: int | None = None,
        agent: str | None = None,
        request_key: str | None = None,
    ) -> SaveResult:
        return await self._calls.call(
            "sessions.save",
            decoder(SessionSaved, SessionConflict),
            session_id=session_id,
            context=dict(context),
            ttl=ttl,
            expected_version=expected_version,
            agent=agent,
            request_key=request_key,
        )

    async def restore(self, session_id: str, *, version: int | None = None) -> SavedSession | None:
        return await self._calls.call("sessions.restore", or_none(decoder(SavedSession)), session_id=session_id, version=version)


class AsyncJournal:
    """The journal of work, by workspace. Entries are written once."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def save(
        self,
        description: str,
        *,
        highlights: Sequence[str] | None = None,
        active_files: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        git_branch: str | None = None,
        work_context: str | None = None,
        questions: Sequence[str] | None = None,
        global_: bool | None = None,
        workspace: str | None = None,
        session_id: str | None = None,
        ttl: float | None = None,
        agent: str | None = None,
        request_key: str | None = None,
    ) -> EntrySaved:
        return await self._calls.call(
            "journal.save",
            decoder(EntrySaved),
            description=description,
            highlights=highlights,
            active_files=active_files,
            tags=tags,
            git_branch=git_branch,
            work_context=work_context,
            questions=questions,
            global_=global_,
            workspace=workspace,
            session_id=session_id,
            ttl=ttl,
            agent=agent,
            request_key=request_key,
        )

    async def get(self, id_or_part: str, *, workspace: str | None = None) -> JournalEntry:
        """By the full id or a part that only one entry has."""
        return await self._calls.call("journal.get", decoder(JournalEntry), id_or_part=id_or_part, workspace=workspace)

    async def list(
        self,
        *,
        workspace: str | None = None,
        limit: int | None = None,
        from_: float | None = None,
        until: float | None = None,
        before: str | None = None,
    ) -> EntryPage:
        """Newest first; give `next` back as `before` for the next page."""
        return await self._calls.call("journal.list", decoder(EntryPage), workspace=workspace, limit=limit, from_=from_, until=until, before=before)

    async def search(self, query: str, *, workspace: str | None = None, limit: int | None = None, from_: float | None = None) -> EntryHits:
        """Best first."""
        return await self._calls.call("journal.search", decoder(EntryHits), query=query, workspace=workspace, limit=limit, from_=from_)

    async def highlights(self, entry: JournalEntry, *, workspace: str | None = None) -> Highlights:
        """Everything the entry's session has found worth keeping, oldest first."""
        return await self._calls.call("journal.highlights", decoder(Highlights), entry=entry, workspace=workspace)


class AsyncResearch:
    """Where lines of research stand. Checkpoints are written once; a later one continues an earlier."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def save(
        self,
        core_question: str,
        thesis: str,
        confidence: float,
        *,
        trigger: Literal["synthesis", "branch_point", "constraint", "transition", "manual"] | None = None,
        open_questions: Sequence[str] | None = None,
        sources: Sequence[Mapping[str, Json]] | None = None,
        tensions: Sequence[Mapping[str, Json]] | None = None,
        unique_contributions: Sequence[Mapping[str, Json]] | None = None,
        action: Mapping[str, Json] | None = None,
        skill: str | None = None,
        workspace: str | None = None,
        continues: str | None = None,
        questions: Sequence[str] | None = None,
        agent: str | None = None,
        request_key: str | None = None,
    ) -> CheckpointSaved:
        return await self._calls.call(
            "research.save",
            decoder(CheckpointSaved),
            core_question=core_question,
            thesis=thesis,
            confidence=confidence,
            trigger=trigger,
            open_questions=open_questions,
            sources=sources,
            tensions=tensions,
            unique_contributions=unique_contributions,
            action=action,
            skill=skill,
            workspace=workspace,
            continues=continues,
            questions=questions,
            agent=agent,
            request_key=request_key,
        )

    async def list(
        self,
        *,
        skill: str | None = None,
        workspace: str | None = None,
        query: str | None = None,
        also: Sequence[str] | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> CheckpointPage:
        """Newest first, or with `query` best first; give `next` back as `after` for the next page."""
        return await self._calls.call(
            "research.list", decoder(CheckpointPage), skill=skill, workspace=workspace, query=query, also=also, limit=limit, after=after
        )

    async def load(self, id_or_part: str) -> LoadedCheckpoint:
        return await self._calls.call("research.load", decoder(LoadedCheckpoint), id_or_part=id_or_part)


class AsyncKnowledge:
    """Notes that stay true after the task."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def save(
        self,
        id: str,
        content: str,
        *,
        keywords: Sequence[str] | None = None,
        questions: Sequence[str] | None = None,
        skill: str | None = None,
        source: str | None = None,
        status: Literal["active", "deprecated", "archived"] | None = None,
        trust: Literal["quarantined", "low", "medium", "high"] | None = None,
        supersedes: str | None = None,
        agent: str | None = None,
        request_key: str | None = None,
    ) -> NoteSaved:
        """The same id and skill replace; history keeps the old."""
        return await self._calls.call(
            "knowledge.save",
            decoder(NoteSaved),
            id=id,
            content=content,
            keywords=keywords,
            questions=questions,
            skill=skill,
            source=source,
            status=status,
            trust=trust,
            supersedes=supersedes,
            agent=agent,
            request_key=request_key,
        )

    async def get(self, name: str) -> Note | None:
        """A note by its full name, `id` or `@skill/id`."""
        return await self._calls.call("knowledge.get", or_none(decoder(Note)), name=name)

    async def recall(
        self, query: str, *, also: Sequence[str] | None = None, skill: str | None = None, limit: int | None = None, max_tokens: int | None = None
    ) -> Recall:
        """Notes that answer a question, best first; none when none does."""
        return await self._calls.call("knowledge.recall", decoder(Recall), query=query, also=also, skill=skill, limit=limit, max_tokens=max_tokens)
