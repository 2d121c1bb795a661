from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, cast

from .._json_values import require_json
from .._server_table import RETRYABLE
from .._wire import Json, decoder, or_none
from ..errors import HoldfastError
from ..results import (
    BegunEffect,
    EffectAttempt,
    EffectBegun,
    EffectDetail,
    EffectDone,
    EffectFinished,
    EffectInDoubt,
    EffectInFlight,
    EffectKeptAlive,
    EffectPage,
    EffectPolicy,
    EffectReport,
    EffectState,
    LeaseLike,
    OnceDone,
    OnceRefused,
    OnceResult,
)
from ._calls import AsyncCalls
from ._io import AsyncBackground, AsyncEvent
from ._state import lease_ref

_LIVE_SECONDS = 60.0
# A report is sent again while the store cannot be reached: the effect has happened, and only this process knows.
_REPORT_TRIES_MAX = 6
_REPORT_PAUSE = 0.1


class AsyncRunningEffect:
    """An attempt that is under way. `lost`: another caller resolved the effect or began it again."""

    def __init__(self, begun: EffectBegun) -> None:
        self.id = begun.id
        self.token = begun.token
        self.attempt = begun.attempt
        self.lost = False


class AsyncEffects:
    """What is done outside the store and must not happen twice. At most once unless a caller resolves it as failed, and every unknown outcome is shown."""

    def __init__(self, calls: AsyncCalls) -> None:
        self._calls = calls

    async def begin(
        self,
        tool: str,
        args: Json,
        *,
        scope: str | None = None,
        run: str | None = None,
        step: int | str | None = None,
        ordinal: int | None = None,
        name: str | None = None,
        guard: LeaseLike | None = None,
        live: float | None = None,
        policy: EffectPolicy | None = None,
        keep: float | None = None,
        workspace: str | None = None,
        shown_args: Json = None,
        agent: str | None = None,
    ) -> BegunEffect:
        """Only the outcome `begun` allows you to do it. Durable before it is answered. Takes no request key: one that survives a crash would begin it twice."""
        return await self._calls.call(
            "effects.begin",
            decoder(EffectBegun, EffectDone, EffectInFlight, EffectInDoubt),
            tool=tool,
            args=args,
            scope=scope,
            run=run,
            step=step,
            ordinal=ordinal,
            name=name,
            guard=lease_ref(guard),
            live=live,
            policy=policy,
            keep=keep,
            workspace=workspace,
            shown_args=shown_args,
            agent=agent,
        )

    async def keep_alive(
        self, attempt: EffectAttempt, *, live: float | None = None, agent: str | None = None, request_key: str | None = None
    ) -> EffectKeptAlive:
        """For one that takes longer than `live`."""
        given = {"id": attempt.id, "token": attempt.token}
        return await self._calls.call("effects.keepAlive", decoder(EffectKeptAlive), attempt=given, live=live, agent=agent, request_key=request_key)

    async def finish(
        self, attempt: EffectAttempt, outcome: EffectReport, *, agent: str | None = None, request_key: str | None = None
    ) -> EffectFinished:
        given = {"id": attempt.id, "token": attempt.token}
        return await self._calls.call(
            "effects.finish", decoder(EffectFinished), attempt=given, outcome=_sendable(outcome), agent=agent, request_key=request_key
        )

    async def resolve(
        self,
        id: str,
        as_: Literal["done", "failed"],
        *,
        token: int | None = None,
        answer: Json = None,
        reason: str | None = None,
        agent: str | None = None,
        request_key: str | None = None,
    ) -> EffectFinished:
        """Your word on an effect whose outcome is unknown. `failed`: it did not take effect, and may be begun again.
        `token`: of the attempt that you looked at; if the effect was begun again since, nothing is changed."""
        return await self._calls.call(
            "effects.resolve", decoder(EffectFinished), id=id, as_=as_, token=token, answer=answer, reason=reason, agent=agent, request_key=request_key
        )

    async def get(self, id: str) -> EffectDetail | None:
        return await self._calls.call("effects.get", or_none(decoder(EffectDetail)), id=id)

    async def list(
        self, *, state: EffectState | None = None, run: str | None = None, limit: int | None = None, after: str | None = None
    ) -> EffectPage:
        """Unknown ones first, then those in flight, then the newest; give `next` back as `after` for the next page."""
        return await self._calls.call("effects.list", decoder(EffectPage), state=state, run=run, limit=limit, after=after)

    async def once(
        self,
        tool: str,
        args: Json,
        perform: Callable[[AsyncRunningEffect], Awaitable[object]],
        *,
        scope: str | None = None,
        run: str | None = None,
        step: int | str | None = None,
        ordinal: int | None = None,
        name: str | None = None,
        guard: LeaseLike | None = None,
        live: float = _LIVE_SECONDS,
        policy: EffectPolicy | None = None,
        keep: float | None = None,
        workspace: str | None = None,
        shown_args: Json = None,
        agent: str | None = None,
        is_harmless: Callable[[Exception], bool] | None = None,
    ) -> OnceResult:
        """Begins, calls the function, keeps the record alive meanwhile and reports. What the function returns, which must be JSON, is what a repeat gets.

        An exception leaves the outcome unknown, unless `is_harmless` says that it proves that nothing took effect."""
        begun = await self.begin(
            tool,
            args,
            scope=scope,
            run=run,
            step=step,
            ordinal=ordinal,
            name=name,
            guard=guard,
            live=live,
            policy=policy,
            keep=keep,
            workspace=workspace,
            shown_args=shown_args,
            agent=agent,
        )
        if isinstance(begun, EffectDone):
            return OnceDone(
                id=begun.id,
                answer=begun.answer,
                repeated=True,
                answer_kept=begun.answer_kept,
                attempts=begun.attempts,
                resolved=begun.resolved,
            )
        if not isinstance(begun, EffectBegun):
            return OnceRefused(id=begun.id, reason=begun.outcome, since=begun.since, attempts=begun.attempts, agent=begun.agent)
        running = AsyncRunningEffect(begun)
        over = AsyncEvent()

        async def live_on() -> None:
            while not await over.wait(live / 3):
                try:
                    await self._calls.call(
                        "effects.keepAlive", decoder(EffectKeptAlive), retry_for=live / 3, attempt={"id": begun.id, "token": begun.token}, live=live
                    )
                except HoldfastError as error:
                    # A store that cannot be reached may come back in time; who has lost the record has lost it for good.
                    if error.code in ("conflict", "not_found"):
                        running.lost = True
                        return

        living = AsyncBackground(live_on)
        try:
            answer = cast(Json, await perform(running))
        except BaseException as error:
            harmless = isinstance(error, Exception) and is_harmless is not None and is_harmless(error)
            try:
                await self._report(begun, {"state": "failed", "error": str(error)} if harmless else {"state": "unknown", "reason": _message(error)}, agent)
            except HoldfastError as unreported:
                # The exception itself is the news; a record without a report shows as unknown when its owner's time is over.
                if harmless:
                    raise unreported from error
            raise
        else:
            await self._report(begun, {"state": "done", "answer": answer}, agent)
            return OnceDone(id=begun.id, answer=answer, repeated=False, answer_kept=True, attempts=begun.attempt)
        finally:
            over.set()
            await living.join(1.0)

    async def _report(self, begun: EffectBegun, outcome: EffectReport, agent: str | None) -> None:
        pause = AsyncEvent()
        for tries in range(1, _REPORT_TRIES_MAX + 1):
            try:
                await self.finish(begun, outcome, agent=agent)
                return
            except HoldfastError as error:
                may_pass = error.code == "outcome_unknown" or (error.code in RETRYABLE and error.code != "conflict")
                if not may_pass or tries == _REPORT_TRIES_MAX:
                    raise HoldfastError(
                        error.code,
                        f"The effect {begun.id} ended as {outcome['state']}, which could not be recorded: {error.message}",
                        hint="Read the effect and resolve it if its outcome is unknown.",
                        details={"id": begun.id, "state": outcome["state"]},
                    ) from error
                await pause.wait(_REPORT_PAUSE * 2 ** (tries - 1))


def _message(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _sendable(report: EffectReport) -> EffectReport:
    """The effect happened whatever came back: an answer that is no JSON is replaced by a note that says so."""
    if report["state"] == "unknown":
        return report
    try:
        require_json(report["answer"] if report["state"] == "done" else report["error"], "answer")
        return report
    except HoldfastError as error:
        note: Json = {"answer_not_kept": error.message}
        return {"state": "done", "answer": note} if report["state"] == "done" else {"state": "failed", "error": note}
