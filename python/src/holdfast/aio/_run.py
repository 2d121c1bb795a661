from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from .._wire import Json, milliseconds
from ..errors import EffectNotDone, EffectUnknown, HoldfastError, invalid_input
from ..outcomes import Interruption
from ..results import EffectPolicy, LeaseRef, OnceDone, OnceResult, RunView, StateEntry, StepOutput, StepSaved
from ._effects import AsyncRunningEffect
from ._execution import AsyncExecution
from ._state import require_seconds

_T = TypeVar("_T")
# How often to look whether an effect that a former worker began is over.
_IN_FLIGHT_SECONDS = 0.2
_LONGEST_BACKOFF = 60.0


class AsyncStepAttempt:
    """`attempt`: 1, 2, 3 … in this process. `effect_id`: of an effect, the same for every attempt; give it to the other side as its idempotency key."""

    def __init__(self, execution: AsyncExecution, attempt: int, effect_id: str | None) -> None:
        self._execution = execution
        self.attempt = attempt
        self.effect_id = effect_id

    @property
    def interrupted(self) -> bool:
        """The run is not ours any more, or the worker stops: long work should end."""
        return self._execution.interruption is not None


class AsyncRun:
    """A run in the hands of this worker. Steps are known by their names: one that has finished is not run again,
    by any worker in any language, and returns its stored output."""

    def __init__(self, execution: AsyncExecution, view: RunView, input: Json, stored: list[StepOutput], hold: float, look_again: float) -> None:
        self._execution = execution
        self._hold = hold
        self._look_again = look_again
        self.run_id = view.run_id
        self.name = view.name
        self.tags = view.tags
        self.attempts = view.attempts
        self.input = input
        self._known: dict[str, tuple[int, dict[str, Any]]] = {}
        # Names that the function has used in this execution: a second step of the same name would silently get the first one's output.
        self._used: set[str] = set()
        self._last = max((each.step for each in stored), default=0)
        for each in stored:
            if isinstance(each.output, dict) and isinstance(each.output.get("step"), str) and each.output.get("kind") in ("run", "sleep", "signal"):
                self._known[cast(str, each.output["step"])] = (each.step, each.output)

    @property
    def claim(self) -> LeaseRef:
        """Pass it as `lease` with every write of your own: a replaced worker's is refused."""
        return self._execution.claim

    @property
    def interrupted(self) -> bool:
        return self._execution.interruption is not None

    async def step(
        self,
        name: str,
        work: Callable[[AsyncStepAttempt], Awaitable[_T]],
        *,
        retries: int = 0,
        backoff: float = 1.0,
        effect: bool = False,
        args: Json = None,
        policy: EffectPolicy = "ask",
        is_harmless: Callable[[Exception], bool] | None = None,
    ) -> _T:
        """Calls `work` and stores what it returns, which must be JSON.

        `effect`: it does something outside the store that must not happen twice, so it is recorded before and after. `args`: what it is done with;
        the same step with other arguments is the error `conflict`. `policy`: of an effect whose outcome is unknown, "ask" parks the run, "retry" does it
        again, "assume-done" takes it for done. `is_harmless`: this error proves that nothing took effect; `EffectNotDone` always does."""
        known = self._begin(name, "run")
        if known is not None:
            return cast(_T, known.get("output"))
        if effect:
            output = await self._effect(name, work, retries, backoff, args, policy, is_harmless)
        else:
            output = await self._try(work, retries, backoff)
        # The effect is on record by now: a crash from here on repeats nothing.
        await self._save({"step": name, "kind": "run", "output": output})
        return output

    async def sleep(self, name: str, seconds: float) -> None:
        """A long sleep gives the run back; the next worker to claim it continues."""
        known = self._begin(name, "sleep")
        if known is not None and known.get("done"):
            return
        if known is None:
            until = self._execution.store_now() + require_seconds(seconds, "seconds")
            known = {"step": name, "kind": "sleep", "untilMs": milliseconds(until, "seconds")}
            await self._save(known)
        left = known["untilMs"] / 1000 - self._execution.store_now()
        if left > self._hold:
            raise self._execution.interrupt(Interruption("parked", reason="sleep", step=name, after=left))
        await self._execution.pause(left)
        await self._save({**known, "done": True})

    async def wait_for(self, signal: str, *, timeout: float | None = None, name: str | None = None) -> Json:
        """What `client.signal` sent; None when the time was up, which counts from when the step was first reached."""
        step = signal if name is None else name
        known = self._begin(step, "signal")
        if known is not None and known.get("done"):
            return cast(Json, known.get("output"))
        execution = self._execution
        if known is None:
            ends = {} if timeout is None else {"untilMs": milliseconds(execution.store_now() + require_seconds(timeout, "timeout"), "timeout")}
            known = {"step": step, "kind": "signal", "signal": signal, **ends}
            await self._save(known)
        until = float(known.get("untilMs", float("inf"))) / 1000
        key = signal_key(self.run_id, signal)
        # A crash may have left one behind that was taken already.
        above = max((record.get("version", 0) for _, record in self._known.values() if record.get("signal") == signal), default=0)
        entry = await self._await_signal(key, above, until)
        if entry is not None:
            await self._save({**known, "done": True, "output": entry.value, "version": entry.version})
            # One that came since then stays.
            await execution.guarded(
                lambda: execution.client.state.delete(key, expected_version=entry.version, lease=execution.claim, agent=execution.agent)
            )
            return entry.value
        rest = until - execution.store_now()
        if rest > 0:
            raise execution.interrupt(
                Interruption("parked", reason="signal", step=step, awaited=(key, above), after=min(rest, self._look_again))
            )
        await self._save({**known, "done": True})
        return None

    async def _await_signal(self, key: str, above: int, until: float) -> StateEntry | None:
        """In short parts, so that a lost or stopped run ends the wait."""
        execution = self._execution
        held_until = min(until, execution.store_now() + self._hold)
        while True:
            execution.require_going()
            part = max(0.0, min(held_until - execution.store_now(), 1.0))
            entry = await execution.guarded(lambda: execution.client.state.wait_for(key, version_above=above, timeout=part))
            if entry is not None and entry.version > above:
                return entry
            if execution.store_now() >= held_until:
                return None

    def _begin(self, name: str, kind: str) -> dict[str, Any] | None:
        self._execution.require_going()
        if not isinstance(name, str) or name == "":
            raise invalid_input("name", "must be a non-empty str")
        if name in self._used:
            raise invalid_input("name", f"each step of a workflow needs a name of its own; {json.dumps(name)} was used twice")
        self._used.add(name)
        _, record = self._known.get(name, (0, None))
        if record is not None and record["kind"] != kind:
            raise invalid_input("name", f"{json.dumps(name)} is stored as a step of another kind ({record['kind']}, not {kind})")
        return record

    async def _save(self, record: dict[str, Any]) -> StepSaved:
        execution = self._execution
        execution.require_going()
        # Taken before the call: steps that run side by side need numbers of their own.
        number = self._known[record["step"]][0] if record["step"] in self._known else self._last + 1
        self._last = max(self._last, number)
        self._known[record["step"]] = (number, record)
        return await execution.guarded(
            lambda: execution.client.workflows.checkpoint(self.run_id, number, record, token=execution.claim.token, agent=execution.agent)
        )

    async def _try(self, work: Callable[[AsyncStepAttempt], Awaitable[_T]], retries: int, backoff: float) -> _T:
        attempt = 1
        while True:
            try:
                return await work(AsyncStepAttempt(self._execution, attempt, None))
            except Exception:
                self._execution.require_going()
                if attempt > retries:
                    raise
            await self._execution.pause(_backoff(attempt, backoff))
            attempt += 1

    async def _effect(
        self,
        name: str,
        work: Callable[[AsyncStepAttempt], Awaitable[_T]],
        retries: int,
        backoff: float,
        args: Json,
        policy: EffectPolicy,
        is_harmless: Callable[[Exception], bool] | None,
    ) -> _T:
        """The claim guards its beginning, so that a replaced worker cannot begin it; the record knows it by run and name, so that the next worker
        gets the first answer. An unknown outcome is never retried by itself."""
        execution = self._execution
        attempt = 1
        raised: list[Exception] = []
        begun: list[str] = []

        def proves_nothing(error: Exception) -> bool:
            return isinstance(error, EffectNotDone) or (is_harmless is not None and is_harmless(error))

        async def perform(running: AsyncRunningEffect) -> _T:
            begun.append(running.id)
            try:
                return await work(AsyncStepAttempt(execution, attempt, running.id))
            except Exception as error:
                raised.append(error)
                raise

        async def once() -> OnceResult:
            return await execution.client.effects.once(
                name,
                args,
                perform,
                run=self.run_id,
                name=name,
                guard=execution.claim,
                live=execution.ttl,
                policy=policy,
                agent=execution.agent,
                is_harmless=proves_nothing,
            )

        while True:
            execution.require_going()
            raised.clear()
            begun.clear()
            try:
                result = await once()
            except Exception as error:
                if not raised:
                    if not begun:
                        raise execution.judged(error) from error
                    # It was done and could not be recorded: the next worker finds it unknown, or resolved.
                    raise execution.interrupt(Interruption("failing", error=error)) from error
                is_unknown = not proves_nothing(raised[0])
                if is_unknown and policy == "ask":
                    raise self._park(EffectUnknown(self.run_id, name, begun[0])) from raised[0]
                if attempt > retries and not (is_unknown and policy == "assume-done"):
                    raise raised[0]
                await execution.pause(_backoff(attempt, backoff))
                attempt += 1
                continue
            if isinstance(result, OnceDone):
                if not result.answer_kept and result.resolved is None:
                    raise HoldfastError(
                        "limit_exceeded",
                        f"The effect of step {name!r} was done before, but its answer could not be stored, so the step has no output.",
                        hint="Return less from the step: a reference instead of the whole answer. The effect itself is not repeated.",
                        details={"step": name, "effect": result.id},
                    )
                return cast(_T, result.answer)
            if result.reason == "unknown":
                raise self._park(EffectUnknown(self.run_id, name, result.id))
            # A former worker's record is alive for a moment longer than its claim.
            await execution.pause(min(_IN_FLIGHT_SECONDS, execution.ttl / 10))

    def _park(self, error: EffectUnknown) -> Exception:
        return self._execution.interrupt(
            Interruption("parked", reason="effect_unknown", step=error.step, effect_id=error.effect_id, after=self._look_again, error=error)
        )


def _backoff(attempt: int, first: float) -> float:
    return min(_LONGEST_BACKOFF, first * 2.0 ** min(attempt - 1, 32))


def signal_key(run_id: str, name: str) -> str:
    """Where the signals of a run wait for it: one may come before the run asks for it, and while no worker has the run."""
    return f"workflow-signal/{run_id}/{name}"
