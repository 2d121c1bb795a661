"""What differs between asyncio and threads. `sync/_io.py` has the same names; everything else is written once."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from .._attempt import LostConnection

_T = TypeVar("_T")


class AsyncConnection:
    """A TCP or TLS connection. Every operation raises `LostConnection` where it fails or `deadline`, by the monotonic clock, has passed.

    Timers end the connection itself: `asyncio.wait_for` of Python 3.11 and older may swallow a cancellation."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, deadline: float) -> None:
        self._reader = reader
        self._writer = writer
        self._is_late = False
        self.deadline = deadline
        self.idle_since = 0.0

    @classmethod
    async def open(cls, host: str, port: int, tls: ssl.SSLContext | None, deadline: float) -> AsyncConnection:
        opening = asyncio.ensure_future(asyncio.open_connection(host, port, ssl=tls))
        try:
            done, _ = await asyncio.wait([opening], timeout=max(0.001, deadline - time.monotonic()))
            if not done:
                raise LostConnection("no connection in time", was_sent=False)
        except BaseException:
            opening.add_done_callback(_discard)
            opening.cancel()
            raise
        try:
            reader, writer = opening.result()
        except OSError as error:
            raise LostConnection(_problem(error), was_sent=False) from error
        return cls(reader, writer, deadline)

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._timed(self._writer.drain())

    async def read_line(self) -> bytes:
        return await self._timed(self._reader.readline())

    async def read_some(self, bytes_max: int) -> bytes:
        """At most so many bytes; none at the end."""
        return await self._timed(self._reader.read(bytes_max))

    def abort(self) -> None:
        """Ends it at once, also while another task reads."""
        self._writer.transport.abort()

    def leave(self) -> None:
        """In a forked child: nothing may be done to it, because the parent's event loop would see it."""

    def _expire(self) -> None:
        self._is_late = True
        self.abort()

    async def _timed(self, operation: Coroutine[Any, Any, _T]) -> _T:
        timer = asyncio.get_running_loop().call_later(max(0.001, self.deadline - time.monotonic()), self._expire)
        try:
            result = await operation
        except (OSError, ValueError) as error:
            raise LostConnection("no answer in time" if self._is_late else _problem(error)) from error
        finally:
            timer.cancel()
        if self._is_late:
            raise LostConnection("no answer in time")
        return result


def _discard(opening: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]]) -> None:
    """A connection that opened after its caller gave up."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result()[1].transport.abort()


def _problem(error: Exception) -> str:
    return str(error) or type(error).__name__


class AsyncEvent:
    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        self._event.set()

    def is_set(self) -> bool:
        return self._event.is_set()

    async def wait(self, seconds: float) -> bool:
        """True as soon as it is set; False when the time is up."""
        waiting = asyncio.ensure_future(self._event.wait())
        try:
            await asyncio.wait([waiting], timeout=max(0.0, seconds))
        finally:
            waiting.cancel()
        return self._event.is_set()


class AsyncBackground:
    """Work beside the caller's own, such as signs of life."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._task = asyncio.ensure_future(work())

    async def join(self, seconds: float) -> None:
        await asyncio.wait([self._task], timeout=seconds)
        self._task.cancel()


async def blocking(work: Callable[[], _T]) -> _T:
    """Work that waits for a process: in a thread, so that the loop continues."""
    return await asyncio.to_thread(work)


async def together(count: int, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Runs the same work so many times side by side, and returns when all have ended."""
    await asyncio.gather(*(work() for _ in range(count)))
