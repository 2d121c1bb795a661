"""A server that belongs to this program."""

from __future__ import annotations

import json
import os
import subprocess
import weakref
from collections.abc import Sequence

from .errors import HoldfastError

_STOP_SECONDS = 10.0


class LocalServer:
    """Its standard input is a pipe that this process holds: when the process ends, however it ends, the pipe closes and the server stops."""

    def __init__(self, command: Sequence[str], store: str | None) -> None:
        arguments = [*command, "serve", "--json", "--port", "0", "--host", "127.0.0.1", "--stop-with-stdin"]
        if store is not None:
            arguments += ["--store", store]
        try:
            # A session of its own: Ctrl-C is for this program, which may have something to save before it closes the client.
            self._process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", start_new_session=True)
        except FileNotFoundError as error:
            raise HoldfastError(
                "unavailable",
                f"The command {command[0]!r} was not found.",
                hint="Put the holdfast command on the PATH, pass command=[…], or connect to a running server.",
            ) from error
        self._pid = os.getpid()
        if hasattr(os, "register_at_fork"):
            alive = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: _leave_in_child(alive))
        line = "" if self._process.stdout is None else self._process.stdout.readline()
        try:
            self.url = str(json.loads(line)["url"])
        except (ValueError, KeyError, TypeError) as error:
            self.stop()
            raise HoldfastError("unavailable", f"holdfast serve ended with exit code {self._process.returncode}; its messages are on standard error.") from error

    def stop(self) -> None:
        """Closing the pipe asks it to stop after the calls in flight; one that does not is ended. A forked child leaves the server to its parent."""
        if self._pid != os.getpid():
            return
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def leave(self) -> None:
        """In a forked child: gives up the child's ends of the pipes. As long as it held them, the server would outlive the parent."""
        nowhere = os.open(os.devnull, os.O_RDWR)
        try:
            for stream in (self._process.stdin, self._process.stdout):
                # The descriptor is replaced, not closed: the stream would close its number again later, when it may be another file's.
                if stream is not None and not stream.closed:
                    os.dup2(nowhere, stream.fileno(), inheritable=False)
        finally:
            os.close(nowhere)


def _leave_in_child(alive: weakref.ref[LocalServer]) -> None:
    server = alive()
    if server is not None:
        server.leave()
