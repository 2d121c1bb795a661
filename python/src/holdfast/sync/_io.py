"""What differs between asyncio and threads. `aio/_io.py` has the same names; everything else is written once."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from .._attempt import LostConnection

_T = TypeVar("_T")
_LINE_BYTES_MAX = 65_536


class Connection:
    """A TCP or TLS connection. Every operation raises `LostConnection` where it fails or `deadline`, by the monotonic clock, has passed."""

    def __init__(self, link: socket.socket, deadline: float) -> None:
        self._link = link
        self._unread = bytearray()
        self.deadline = deadline
        self.idle_since = 0.0

    @classmethod
    def open(cls, host: str, port: int, tls: ssl.SSLContext | None, deadline: float) -> Connection:
        link: socket.socket | None = None
        try:
            link = socket.create_connection((host, port), max(0.001, deadline - time.monotonic()))
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return cls(link if tls is None else tls.wrap_socket(link, server_hostname=host), deadline)
        except OSError as error:
            if link is not None:
                link.close()
            raise LostConnection(_problem(error), was_sent=False) from error

    def send(self, data: bytes) -> None:
        self._timed(lambda: self._link.sendall(data))

    def read_line(self) -> bytes:
        while (end := self._unread.find(b"\n")) < 0:
            if len(self._unread) > _LINE_BYTES_MAX:
                raise LostConnection(f"a line of the answer has more than {_LINE_BYTES_MAX} bytes")
            piece = self._timed(lambda: self._link.recv(_LINE_BYTES_MAX))
            if not piece:
                return self._take(len(self._unread))
            self._unread += piece
        return self._take(end + 1)

    def read_some(self, bytes_max: int) -> bytes:
        """At most so many bytes; none at the end."""
        if self._unread:
            return self._take(min(bytes_max, len(self._unread)))
        return self._timed(lambda: self._link.recv(bytes_max))

    def abort(self) -> None:
        """Ends it at once: closing alone would leave another thread in its read."""
        try:
            self._link.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._link.close()

    def leave(self) -> None:
        """In a forked child: closes its copy. The connection itself is the parent's."""
        self._link.close()

    def _take(self, count: int) -> bytes:
        taken = bytes(self._unread[:count])
        del self._unread[:count]
        return taken

    def _timed(self, operation: Callable[[], _T]) -> _T:
        try:
            self._link.settimeout(max(0.001, self.deadline - time.monotonic()))
            return operation()
        except (OSError, ValueError) as error:
            raise LostConnection(_problem(error)) from error


def _problem(error: Exception) -> str:
    return "no answer in time" if isinstance(error, TimeoutError) else str(error) or type(error).__name__


class Event:
    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()

    def is_set(self) -> bool:
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """True as soon as it is set; False when the time is up."""
        return self._event.wait(max(0.0, seconds))


class Background:
    """Work beside the caller's own, such as signs of life. A daemon: it must not keep a program alive that has ended."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)


def blocking(work: Callable[[], _T]) -> _T:
    return work()


def together(count: int, work: Callable[[], None]) -> None:
    """Runs the same work so many times side by side, and returns when all have ended."""
    if count == 1:
        return work()
    with ThreadPoolExecutor(count) as pool:
        for each in [pool.submit(work) for _ in range(count)]:
            each.result()
