from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from types import TracebackType

from .._attempt import Lost, LostConnection, Refused, RetryDelay, judge
from .._server_events import EventParser, ServerEvent
from .._wire import decoder
from ..errors import HoldfastError, error_in
from ..results import StateChange
from ._calls import AsyncCalls
from ._http import AsyncResponse
from ._io import AsyncConnection, AsyncEvent

# The server sends a sign of life every 15 seconds; without any for so long, the connection is dead.
_QUIET_SECONDS_MAX = 45.0
_REFUSAL_BYTES_MAX = 65_536
_decode_change = decoder(StateChange)


class AsyncWatch:
    """The changes, as an iterator that ends when it or the client is closed. After a break it is opened again after the last whole commit that arrived."""

    def __init__(self, calls: AsyncCalls, *, key: str | None, prefix: str | None, after: int | None) -> None:
        self._calls = calls
        self._given = {"key": key, "prefix": prefix}
        self._after = after
        self._delay = RetryDelay(float("inf"))
        self._parser = EventParser()
        self._open: tuple[AsyncConnection, AsyncResponse] | None = None
        self._events: list[ServerEvent] = []
        self._changes: list[StateChange] = []
        self._over = AsyncEvent()

    def __aiter__(self) -> AsyncIterator[StateChange]:
        return self

    async def __anext__(self) -> StateChange:
        while not self._changes:
            if self._over.is_set() or self._calls.closed.is_set():
                self._drop()
                raise StopAsyncIteration
            await self._advance()
        return self._changes.pop(0)

    async def __aenter__(self) -> AsyncWatch:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends it, also while another thread or task waits for the next change."""
        self._over.set()
        opened = self._open
        if opened is not None:
            opened[0].abort()

    async def _advance(self) -> None:
        """One step: opens the stream, reads a piece of it, or takes an event that has arrived."""
        try:
            if self._events:
                self._take(self._events.pop(0))
                return
            if self._open is None:
                self._open = await self._connect()
            connection, response = self._open
            connection.deadline = time.monotonic() + _QUIET_SECONDS_MAX
            piece = await response.read_piece()
            if piece == b"":
                raise LostConnection("the server ended the stream")
            self._events.extend(self._parser.push(piece))
        except LostConnection:
            await self._pause(0.0)
        except HoldfastError as error:
            self._drop()
            if error.code not in ("unavailable", "rate_limited"):
                self._over.set()
                raise
            await self._pause(0.0)
        except BaseException:
            self._drop()
            raise

    async def _connect(self) -> tuple[AsyncConnection, AsyncResponse]:
        body = self._calls.arguments("state.watch", {**self._given, "after": self._after})
        connection, response = await self._calls.open(
            self._calls.target_of("state.watch"), json.dumps(body).encode(), time.monotonic() + self._calls.limits.timeout
        )
        if 200 <= response.status < 300:
            return connection, response
        try:
            attempt = judge(response.status, None, await response.read(_REFUSAL_BYTES_MAX))
        finally:
            self._calls.settle(connection, None)
        if isinstance(attempt, Refused):
            raise attempt.error
        raise LostConnection(attempt.problem if isinstance(attempt, Lost) else "the stream was refused")

    def _take(self, event: ServerEvent) -> None:
        if event.event == "error":
            error = error_in({"error": json.loads(event.data)})
            raise error or LostConnection("the stream ended with an error")
        if event.id is not None:
            self._delay.reset()
            self._after = int(event.id)
        if event.event == "change":
            self._changes = [_decode_change(change) for change in json.loads(event.data)]

    async def _pause(self, at_least: float) -> None:
        self._drop()
        if not self._over.is_set():
            await self._calls.closed.wait(self._delay.next(at_least) or 0.0)

    def _drop(self) -> None:
        opened, self._open = self._open, None
        self._parser = EventParser()
        self._events = []
        if opened is not None:
            self._calls.settle(opened[0], None)
