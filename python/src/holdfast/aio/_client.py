from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType

from .._local_server import LocalServer
from .._options import CallLimits, Token, parse_url
from .._wire import Json, decoder
from ..errors import HoldfastError, invalid_input
from ..memory_results import ResumeText
from ..outcomes import WorkOutcome
from ..results import Health, HistoryCursor, HistoryKind, HistoryPage, RunCreated
from ._blobs import AsyncBlobs
from ._calls import AsyncCalls
from ._effects import AsyncEffects
from ._hold import AsyncHeldLease
from ._io import AsyncEvent, blocking
from ._leases import AsyncLeases
from ._memory import AsyncJournal, AsyncKnowledge, AsyncResearch, AsyncSessions
from ._run import AsyncRun, signal_key
from ._state import AsyncState
from ._worker import WORKFLOW_TAG, AsyncWorker, ending_of
from ._workflows import AsyncWorkflows

_SIGNAL_KEPT_SECONDS = 30 * 86_400.0


class AsyncHoldfast:
    """A server's store. Made by `connect` or `open`. Calls are retried after a lost connection and while the server is busy; those that change
    something carry a request key, so that a repeated one cannot take effect twice. Expected refusals are results; everything else raises `HoldfastError`."""

    def __init__(self, calls: AsyncCalls, local: LocalServer | None) -> None:
        self.calls = calls
        self._local = local
        self.state = AsyncState(calls)
        self.blobs = AsyncBlobs(calls)
        self.leases = AsyncLeases(calls)
        self.workflows = AsyncWorkflows(calls)
        self.effects = AsyncEffects(calls)
        self.sessions = AsyncSessions(calls)
        self.journal = AsyncJournal(calls)
        self.research = AsyncResearch(calls)
        self.knowledge = AsyncKnowledge(calls)

    @property
    def namespace(self) -> str:
        return self.calls.namespace

    async def resume(
        self,
        *,
        workspace: str | None = None,
        since_revision: int | None = None,
        query: str | None = None,
        skill: str | None = None,
        tokens_max: int | None = None,
        agent: str | None = None,
    ) -> ResumeText:
        """What an agent needs to continue after a crash or a hand-over, as one text within a token budget."""
        return await self.calls.call(
            "resume",
            decoder(ResumeText),
            workspace=workspace,
            since_revision=since_revision,
            query=query,
            skill=skill,
            tokens_max=tokens_max,
            agent=agent,
        )

    async def history(
        self,
        *,
        name: str | None = None,
        prefix: str | None = None,
        kind: HistoryKind | None = None,
        after_revision: int | None = None,
        writer: str | None = None,
        limit: int | None = None,
        before: HistoryCursor | None = None,
    ) -> HistoryPage:
        """Who changed what, newest first; give `next` back as `before` for the next page."""
        return await self.calls.call(
            "history",
            decoder(HistoryPage),
            name=name,
            prefix=prefix,
            kind=kind,
            after_revision=after_revision,
            writer=writer,
            limit=limit,
            before=before,
        )

    async def health(self) -> Health:
        return await self.calls.call("health", decoder(Health))

    def lease(self, resource: str, *, ttl: float, wait: float | None = None, agent: str | None = None) -> AsyncHeldLease:
        """A lease for a with block, renewed meanwhile and released at the end. Raises `claim_held` if another agent holds it."""
        return AsyncHeldLease(self.calls, self.leases, resource, ttl, wait, agent)

    async def start_workflow(
        self, name: str, *, input: Json = None, run_id: str | None = None, tags: Mapping[str, str] | None = None, priority: int | None = None
    ) -> RunCreated:
        """Creates a run for workers to take. Creating a run twice under one id gives the first."""
        made = await self.workflows.create(name, run_id=run_id, input=input, tags={**(tags or {}), WORKFLOW_TAG: name}, priority=priority)
        if made.name != name:
            raise HoldfastError(
                "conflict",
                f'Run {made.run_id} is a run of "{made.name}", not of "{name}"; nothing was changed.',
                hint="Give runs of different workflows different ids.",
                details={"run_id": made.run_id, "name": made.name},
            )
        return made

    async def run_workflow(
        self,
        name: str,
        handler: Callable[[AsyncRun], Awaitable[object]],
        *,
        input: Json = None,
        run_id: str | None = None,
        tags: Mapping[str, str] | None = None,
        priority: int | None = None,
        ttl: float = 30.0,
        agent: str | None = None,
        stop: AsyncEvent | None = None,
        hold: float = 30.0,
        look_again: float = 60.0,
    ) -> WorkOutcome:
        """Creates the run, or claims the one with this id, and works on it until it ends, is given back or is lost to another worker.

        What the function raises ends the run as failed; trouble with the store is raised and leaves the run to the next worker.
        `ttl`: how soon another worker takes over from one that died. `hold`: a sleep or wait that lasts longer gives the run back meanwhile.
        `look_again`: how often a run is looked at again that waits for a signal or for an effect to be resolved."""
        made = await self.start_workflow(name, input=input, run_id=run_id, tags=tags, priority=priority)
        worker = AsyncWorker(self, ttl=ttl, agent=agent, stop=stop, hold=hold, look_again=look_again)
        try:
            outcome = await worker.claim_and_work(made.run_id, None, handler)
            if outcome is not None:
                return outcome
        except HoldfastError as error:
            if error.code != "workflow_finished":
                raise
        return await ending_of(self, made.run_id)

    async def work(
        self,
        name: str | None,
        handler: Callable[[AsyncRun], Awaitable[object]],
        *,
        tags: Mapping[str, str] | None = None,
        concurrency: int = 1,
        idle: float = 1.0,
        stops_when_idle: bool = False,
        on_outcome: Callable[[WorkOutcome], object] | None = None,
        on_error: Callable[[Exception], object] | None = None,
        ttl: float = 30.0,
        agent: str | None = None,
        stop: AsyncEvent | None = None,
        hold: float = 30.0,
        look_again: float = 60.0,
    ) -> None:
        """Claims runs of a workflow, or with tags, one after the other and works on them, until `stop` is set or the client is closed."""
        if name is None and not tags:
            raise invalid_input("name", "give the workflow's name, or tags: without either, the worker would take every run")
        worker = AsyncWorker(self, ttl=ttl, agent=agent, stop=stop, hold=hold, look_again=look_again)
        await worker.work(
            {**(tags or {}), **({} if name is None else {WORKFLOW_TAG: name})},
            handler,
            concurrency=concurrency,
            idle=idle,
            stops_when_idle=stops_when_idle,
            on_outcome=on_outcome,
            on_error=on_error,
        )

    async def signal(self, run_id: str, name: str, payload: Json = None, *, kept: float = _SIGNAL_KEPT_SECONDS, agent: str | None = None) -> None:
        """Sends something to a run, which gets it from `run.wait_for(name)`, and wakes the run where it was given back to wait."""
        view = await self.workflows.get(run_id)
        if view.status in ("done", "failed", "cancelled"):
            raise HoldfastError(
                "workflow_finished", f"Run {run_id} is {view.status}; it accepts no more signals.", details={"run_id": run_id, "status": view.status}
            )
        await self.state.set(signal_key(run_id, name), payload, ttl=kept, agent=agent)
        # In this order: a run that looks for the signal after it was woken finds it.
        await self.workflows.wake(run_id, agent=agent)

    async def close(self) -> None:
        """Ends calls and watches, and the server that `open` started."""
        self.calls.close()
        if self._local is not None:
            await blocking(self._local.stop)

    async def __aenter__(self) -> AsyncHoldfast:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()


async def connect(
    url: str,
    *,
    token: Token | None = None,
    namespace: str | None = None,
    agent: str | None = None,
    workspace: str | None = None,
    retry_for: float = 30.0,
    timeout: float = 30.0,
    tls: ssl.SSLContext | None = None,
) -> AsyncHoldfast:
    """Connects to a Holdfast server.

    `token`: an access token, or a function that gives one for each request; none for a server on this machine that trusts its user.
    `agent`: the default name for this program in history and as the holder of leases and claims. `workspace`: whose journal, when a call does not say.
    `retry_for`: how long a call is retried. `timeout`: after so long without an answer one attempt is given up. `tls`: instead of Python's defaults."""
    return await _connect(url, token, namespace, agent, workspace, CallLimits(retry_for, timeout), tls, None)


async def open(
    *,
    store: str | None = None,
    namespace: str | None = None,
    agent: str | None = None,
    workspace: str | None = None,
    retry_for: float = 30.0,
    timeout: float = 30.0,
    command: Sequence[str] = ("holdfast",),
) -> AsyncHoldfast:
    """Starts a server of this program's own on a loopback port, which ends with the client, and also when this program dies.

    `store`: as for `holdfast serve --store`; the configured one when left out. `command`: how to start `holdfast`."""
    local = await blocking(lambda: LocalServer(command, store))
    try:
        return await _connect(local.url, None, namespace, agent, workspace, CallLimits(retry_for, timeout), None, local)
    except BaseException:
        await blocking(local.stop)
        raise


async def _connect(
    url: str,
    token: Token | None,
    namespace: str | None,
    agent: str | None,
    workspace: str | None,
    limits: CallLimits,
    tls: ssl.SSLContext | None,
    local: LocalServer | None,
) -> AsyncHoldfast:
    calls = AsyncCalls(parse_url(url, tls), token, limits)
    calls.agent = agent
    calls.workspace = workspace
    try:
        await calls.hello(namespace)
    except BaseException:
        calls.close()
        raise
    return AsyncHoldfast(calls, local)
