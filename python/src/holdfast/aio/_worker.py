from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, cast

from .._wire import Json
from ..errors import HoldfastError, invalid_input
from ..outcomes import Interruption, WorkCancelled, WorkDone, WorkFailed, WorkHeld, WorkOutcome, WorkParked, WorkStopped
from ..results import RunClaimed, StepOutput
from ._execution import AsyncExecution
from ._io import AsyncEvent, together
from ._run import AsyncRun

if TYPE_CHECKING:
    from ._client import AsyncHoldfast

WORKFLOW_TAG = "workflow"
"""By it workers find the runs of a workflow."""
_STEPS_AT_ONCE = 200
_MESSAGE_CHARACTERS_MAX = 2_000
_CONCURRENCY_MAX = 1_000


class AsyncWorker:
    """How runs are worked on: see `AsyncHoldfast.work`."""

    def __init__(self, client: AsyncHoldfast, *, ttl: float, agent: str | None, stop: AsyncEvent | None, hold: float, look_again: float) -> None:
        self._client = client
        self._ttl = ttl
        self._name = agent or client.calls.agent or "worker"
        self._stop = stop
        self._hold = hold
        self._look_again = look_again

    async def claim_and_work(
        self, run_id: str | None, tags: Mapping[str, str] | None, handler: Callable[[AsyncRun], Awaitable[object]]
    ) -> WorkOutcome | None:
        """The run by its id or the next one with the tags; None: there is none to claim."""
        asked_at = time.monotonic()
        # Of this claim alone: two workers of one name must not take each other's claims for their own.
        agent = f"{self._name}-{secrets.token_hex(4)}"
        claimed = await self._client.workflows.claim(run_id, tags=tags, ttl=self._ttl, agent=agent)
        if not isinstance(claimed, RunClaimed):
            return None if claimed.run_id is None else WorkHeld(run_id=claimed.run_id, held_by=claimed.held_by)
        execution = AsyncExecution(self._client, claimed, self._ttl, asked_at, self._stop)
        result: Json = None
        failure: Exception | None = None
        try:
            run = await self._read_run(execution)
            result = cast(Json, await handler(run))
        except Exception as error:
            failure = error
        finally:
            await execution.end()
        if execution.interruption is not None:
            return await self._settle(execution, execution.interruption)
        try:
            if failure is None:
                await self._client.workflows.finish(claimed.run_id, "done", result=result, token=claimed.token, agent=agent)
            else:
                facts = _error_facts(failure)
                await self._client.workflows.finish(claimed.run_id, "failed", error=facts, retry=False, token=claimed.token, agent=agent)
        except HoldfastError as error:
            if error.code not in ("claim_lost", "claim_held", "workflow_finished"):
                raise
            return await self._settle(execution, Interruption("lost"))
        if failure is None:
            return WorkDone(run_id=claimed.run_id, result=result)
        return WorkFailed(run_id=claimed.run_id, error=_error_facts(failure))

    async def _read_run(self, execution: AsyncExecution) -> AsyncRun:
        workflows = self._client.workflows
        steps: list[StepOutput] = []
        while True:
            after = steps[-1].step if steps else 0
            page = await execution.guarded(lambda: workflows.resume(execution.run_id, steps_after=after, limit=_STEPS_AT_ONCE))
            steps.extend(page.steps)
            if not page.more or not page.steps:
                return AsyncRun(execution, page.view, page.input, steps, self._hold, self._look_again)

    async def _settle(self, execution: AsyncExecution, interruption: Interruption) -> WorkOutcome:
        workflows, run_id = self._client.workflows, execution.run_id
        if interruption.kind == "failing":
            raise interruption.error or HoldfastError("internal", f"Run {run_id} was interrupted.")
        if interruption.kind == "lost":
            view = await workflows.get(run_id)
            return WorkCancelled(run_id=run_id) if view.status == "cancelled" else WorkHeld(run_id=run_id, held_by=interruption.held_by)
        after = interruption.after if interruption.kind == "parked" else None
        await workflows.give_back(run_id, token=execution.claim.token, claimable_after=after, agent=execution.agent)
        if interruption.kind == "stopped":
            return WorkStopped(run_id=run_id)
        if interruption.awaited is not None:
            key, above = interruption.awaited
            entry = await self._client.state.get(key)
            # A signal that came after the last look, and before the run was given back, did not wake the run.
            if entry is not None and entry.version > above:
                await workflows.wake(run_id)
        return WorkParked(run_id=run_id, reason=interruption.reason, step=interruption.step, effect_id=interruption.effect_id)

    async def work(
        self,
        tags: Mapping[str, str],
        handler: Callable[[AsyncRun], Awaitable[object]],
        *,
        concurrency: int,
        idle: float,
        stops_when_idle: bool,
        on_outcome: Callable[[WorkOutcome], object] | None,
        on_error: Callable[[Exception], object] | None,
    ) -> None:
        if not 1 <= concurrency <= _CONCURRENCY_MAX:
            raise invalid_input("concurrency", f"must be from 1 to {_CONCURRENCY_MAX}")
        stop = self._stop or AsyncEvent()

        async def work_in_line() -> None:
            while not stop.is_set() and not self._client.calls.closed.is_set():
                try:
                    outcome = await self.claim_and_work(None, tags, handler)
                except HoldfastError as error:
                    # The store failed; the worker rests and continues.
                    if on_error is not None:
                        on_error(error)
                    await stop.wait(idle)
                    continue
                if outcome is not None:
                    if on_outcome is not None:
                        on_outcome(outcome)
                elif stops_when_idle:
                    return
                else:
                    await stop.wait(idle)

        await together(concurrency, work_in_line)


async def ending_of(client: AsyncHoldfast, run_id: str) -> WorkOutcome:
    """What became of a run that has ended."""
    view = await client.workflows.get(run_id)
    if view.status == "done":
        return WorkDone(run_id=run_id, result=view.result)
    if view.status == "failed":
        return WorkFailed(run_id=run_id, error=view.error)
    return WorkCancelled(run_id=run_id) if view.status == "cancelled" else WorkHeld(run_id=run_id, held_by=view.agent_id)


def _error_facts(error: Exception) -> Json:
    """What is stored of an error, and shown of a failed run."""
    message = error.message if isinstance(error, HoldfastError) else str(error)
    text = message.encode("utf-8", "replace").decode()[:_MESSAGE_CHARACTERS_MAX]
    facts: dict[str, Json] = {"name": type(error).__name__, "message": text}
    if isinstance(error, HoldfastError):
        facts["code"] = error.code
    return facts
