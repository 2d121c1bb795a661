from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from .._wire import Json, decoder
from ..results import (
    ClaimRefused,
    ClaimResult,
    Released,
    RenewalRefused,
    Renewed,
    RenewResult,
    RunClaimed,
    RunCreated,
    RunFinished,
    RunPage,
    RunResumed,
    RunStatus,
    RunView,
    RunWoken,
    StepSaved,
)
from ._calls import AsyncCalls


class AsyncWorkflows:
    """Runs with numbered steps, claimed by one worker at a time. `client.run_workflow` and `client.work` do all of this by themselves."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def create(
        self,
        name: str,
        *,
        tags: Mapping[str, str] | None = None,
        input: Json = None,
        run_id: str | None = None,
        priority: int | None = None,
        workspace: str | None = None,
        agent: str | None = None,
        request_key: str | None = None,
    ) -> RunCreated:
        """Creating a run twice under one `run_id` returns the first."""
        return await self._calls.call(
            "workflows.create",
            decoder(RunCreated),
            name=name,
            tags=None if tags is None else dict(tags),
            input=input,
            run_id=run_id,
            priority=priority,
            workspace=workspace,
            agent=agent,
            request_key=request_key,
        )

    async def find(
        self,
        *,
        tags: Mapping[str, str] | None = None,
        status: RunStatus | None = None,
        claimable: bool | None = None,
        limit: int | None = None,
        after: str | None = None,
    ) -> RunPage:
        return await self._calls.call(
            "workflows.find",
            decoder(RunPage),
            tags=None if tags is None else dict(tags),
            status=status,
            claimable=claimable,
            limit=limit,
            after=after,
        )

    async def get(self, run_id: str) -> RunView:
        return await self._calls.call("workflows.get", decoder(RunView), run_id=run_id)

    async def claim(
        self,
        run_id: str | None = None,
        *,
        tags: Mapping[str, str] | None = None,
        ttl: float | None = None,
        agent: str | None = None,
        request_key: str | None = None,
    ) -> ClaimResult:
        """A run by its id, or the next claimable one carrying the tags."""
        return await self._calls.call(
            "workflows.claim",
            decoder(RunClaimed, ClaimRefused),
            run_id=run_id,
            tags=None if tags is None else dict(tags),
            ttl=ttl,
            agent=agent,
            request_key=request_key,
        )

    async def renew(
        self, run_id: str, *, ttl: float | None = None, token: int | None = None, agent: str | None = None, request_key: str | None = None
    ) -> RenewResult:
        """Extends the claim without a step: the heartbeat."""
        return await self._calls.call(
            "workflows.renew", decoder(Renewed, RenewalRefused), run_id=run_id, ttl=ttl, token=token, agent=agent, request_key=request_key
        )

    async def give_back(
        self,
        run_id: str,
        *,
        token: int | None = None,
        claimable_after: float | None = None,
        agent: str | None = None,
        request_key: str | None = None,
    ) -> Released:
        """The run can be claimed again at once, or as the next one only after `claimable_after` seconds; by its id at any time."""
        return await self._calls.call(
            "workflows.giveBack",
            decoder(Released),
            run_id=run_id,
            token=token,
            claimable_after=claimable_after,
            agent=agent,
            request_key=request_key,
        )

    async def wake(self, run_id: str, *, agent: str | None = None, request_key: str | None = None) -> RunWoken:
        """Makes a run that was given back for later claimable now."""
        return await self._calls.call("workflows.wake", decoder(RunWoken), run_id=run_id, agent=agent, request_key=request_key)

    async def checkpoint(
        self, run_id: str, step: int, output: Json, *, token: int | None = None, agent: str | None = None, request_key: str | None = None
    ) -> StepSaved:
        return await self._calls.call(
            "workflows.checkpoint", decoder(StepSaved), run_id=run_id, step=step, output=output, token=token, agent=agent, request_key=request_key
        )

    async def resume(self, run_id: str, *, steps_after: int | None = None, limit: int | None = None) -> RunResumed:
        return await self._calls.call("workflows.resume", decoder(RunResumed), run_id=run_id, steps_after=steps_after, limit=limit)

    async def finish(
        self,
        run_id: str,
        status: Literal["done", "failed", "cancelled"],
        *,
        result: Json = None,
        error: Json = None,
        retry: bool | None = None,
        token: int | None = None,
        agent: str | None = None,
        request_key: str | None = None,
    ) -> RunFinished:
        """`retry`: a failed run can be claimed again."""
        return await self._calls.call(
            "workflows.finish",
            decoder(RunFinished),
            run_id=run_id,
            status=status,
            result=result,
            error=error,
            retry=retry,
            token=token,
            agent=agent,
            request_key=request_key,
        )
