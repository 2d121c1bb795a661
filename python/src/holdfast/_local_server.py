"""A server that belongs to this program."""

from __future__ import annotations

import json
import subprocess
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
        line = "" if self._process.stdout is None else self._process.stdout.readline()
        try:
            self.url = str(json.loads(line)["url"])
        except (ValueError, KeyError, TypeError) as error:
            self.stop()
            raise HoldfastError("unavailable", f"holdfast serve ended with exit code {self._process.returncode}; its messages are on standard error.") from error

    def stop(self) -> None:
        """Closing the pipe asks it to stop after the calls in flight; one that does not is ended."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
