"""Calls of one server, each tried until it is answered or its time is up."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .._attempt import RETRIED, Answered, Attempt, Lost, LostConnection, Refused, RetryDelay, judge, no_library
from .._json_values import require_json_values
from .._options import CallLimits, ServerAddress, Token
from .._server_table import METHODS
from .._wire import encode, milliseconds, python_name
from ..errors import HoldfastError, invalid_input
from ._http import AsyncResponse, send_request
from ._io import AsyncConnection, AsyncEvent

_T = TypeVar("_T")
_ANSWER_BYTES_MAX = 64 * 1024 * 1024
_IDLE_MAX = 64
# Servers commonly end connections that were idle for five seconds.
_IDLE_SECONDS_MAX = 4.0
# A request key is sent again only this long after the first attempt: an hour before the server forgets it and would take a repeat for a new call.
_KEY_TRUSTED_SECONDS = 23 * 3_600.0


class AsyncCalls:
    def __init__(self, address: ServerAddress, token: Token | None, limits: CallLimits) -> None:
        self._address = address
        self._token = token
        self.limits = limits
        self.namespace = ""
        self.closed = AsyncEvent()
        self.agent: str | None = None
        self.workspace: str | None = None
        # Highlights add up over a session; one is begun with every connection.
        self._session_id = f"session-{secrets.token_hex(6)}"
        self._offered: frozenset[str] = frozenset()
        self._version = ""
        self._idle: list[AsyncConnection] = []
        self._busy: set[AsyncConnection] = set()
        # Whose connections these are.
        self._pid = os.getpid()

    async def hello(self, namespace: str | None) -> None:
        target = self._address.target("api", "library") if namespace is None else self._address.target("api", "ns", namespace, "library")
        try:
            hello = await self._until_answered("connect", target, None, None, self.limits.retry_for, 0.0)
        except HoldfastError as error:
            raise no_library(404) if error.code == "not_found" else error
        if not isinstance(hello, dict) or not isinstance(hello.get("namespace"), str) or not isinstance(hello.get("methods"), list):
            raise no_library(200)
        self.namespace = hello["namespace"]
        self._version = str(hello.get("version"))
        self._offered = frozenset(hello["methods"])

    async def call(self, name: str, decode: Callable[[Any], _T], /, *, wait_seconds: float = 0.0, retry_for: float | None = None, **given: Any) -> _T:
        body = self.arguments(name, given)
        return decode(await self.send(name, body, wait_seconds=wait_seconds, retry_for=retry_for))

    def arguments(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """As the server takes them: its names, milliseconds, without what was left out."""
        if name not in self._offered:
            raise HoldfastError(
                "read_only",
                f"{name}: this server (Holdfast {self._version}) does not offer it to this credential; nothing was changed.",
                hint="The server was started read-only or is older than this client, or the credential may only read.",
            )
        method = METHODS[name]
        body: dict[str, Any] = {}
        for wire in (*method.required, *method.optional, "agent", *(("requestKey",) if method.writes else ())):
            field = python_name(wire)
            value = self._default(name, field) if given.get(field) is None else given[field]
            if value is None and wire not in method.required:
                continue
            body[wire] = milliseconds(value, field) if wire.endswith("Ms") else encode(value)
        if method.writes:
            body.setdefault("requestKey", secrets.token_hex(16))
        require_json_values(body)
        return body

    def _default(self, name: str, field: str) -> str | None:
        if field == "agent":
            return self.agent
        if field == "workspace" and (name == "resume" or name.startswith("journal.")):
            return self.workspace
        return self._session_id if field == "session_id" and name == "journal.save" else None

    async def send(self, name: str, body: dict[str, Any], *, wait_seconds: float = 0.0, retry_for: float | None = None) -> Any:
        target = self.target_of(name)
        key = body.get("requestKey")
        text = json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
        answer = await self._until_answered(name, target, text, key, self.limits.retry_for if retry_for is None else retry_for, wait_seconds)
        return answer.get("result") if isinstance(answer, dict) else None

    def target_of(self, name: str) -> str:
        return self._address.target("api", "ns", self.namespace, "library", name)

    def close(self) -> None:
        self._leave_to_parent()
        self.closed.set()
        for connection in [*self._idle, *list(self._busy)]:
            connection.abort()
        self._idle.clear()

    async def open(self, target: str, body: bytes | None, deadline: float) -> tuple[AsyncConnection, AsyncResponse]:
        """One request; the body of its answer is not read yet. The caller passes the connection to `settle` afterwards."""
        headers = {"host": self._address.host_header, "accept": "application/json, text/event-stream"}
        token = self._token() if callable(self._token) else self._token
        if token is not None:
            if not token.isascii() or not token.isprintable():
                raise invalid_input("token", "must be printable ASCII")
            headers["authorization"] = f"Bearer {token}"
        if body is not None:
            headers["content-type"] = "application/json"
        connection = await self._take_connection(deadline)
        try:
            return connection, await send_request(connection, "GET" if body is None else "POST", target, headers, body)
        except BaseException:
            self.settle(connection, None)
            raise

    def settle(self, connection: AsyncConnection, response: AsyncResponse | None) -> None:
        """Kept for the next call where the answer was read to its end; ended otherwise."""
        self._busy.discard(connection)
        if response is not None and response.may_reuse and len(self._idle) < _IDLE_MAX and not self.closed.is_set():
            connection.idle_since = time.monotonic()
            self._idle.append(connection)
        else:
            connection.abort()

    def _leave_to_parent(self) -> None:
        """After a fork, the connections are the parent's: two processes on one would read each other's answers."""
        if self._pid == os.getpid():
            return
        self._pid = os.getpid()
        for connection in [*self._idle, *self._busy]:
            connection.leave()
        self._idle.clear()
        self._busy.clear()

    async def _take_connection(self, deadline: float) -> AsyncConnection:
        self._leave_to_parent()
        connection = self._take_idle()
        if connection is None:
            connection = await AsyncConnection.open(self._address.host, self._address.port, self._address.tls, deadline)
        connection.deadline = deadline
        self._busy.add(connection)
        if self.closed.is_set():
            # Closed meanwhile, by another thread or task, which did not see this connection.
            connection.abort()
        return connection

    def _take_idle(self) -> AsyncConnection | None:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            if time.monotonic() - connection.idle_since < _IDLE_SECONDS_MAX:
                return connection
            connection.abort()

    async def _until_answered(self, what: str, target: str, body: bytes | None, key: str | None, retry_for: float, wait_seconds: float) -> Any:
        delay = RetryDelay(retry_for + wait_seconds)
        in_doubt = False
        while True:
            if self.closed.is_set():
                raise _unknown(what, key, "the client was closed") if in_doubt else _cancelled(what)
            # Judged before each attempt, because a machine may sleep for a day between two of them.
            if in_doubt and delay.elapsed > _KEY_TRUSTED_SECONDS:
                raise _unknown(what, key, "the server may have forgotten the request key by now")
            attempt = await self._attempt(target, body, self.limits.timeout + wait_seconds)
            if isinstance(attempt, Answered):
                return attempt.json
            is_unknown = attempt.was_sent if isinstance(attempt, Lost) else attempt.error.code == "outcome_unknown"
            was_in_doubt = in_doubt
            in_doubt = in_doubt or (key is not None and is_unknown)
            if isinstance(attempt, Lost) or attempt.error.code in RETRIED:
                seconds = delay.next(attempt.at_least if isinstance(attempt, Refused) else 0.0)
                if seconds is not None and not await self.closed.wait(seconds):
                    continue
            if isinstance(attempt, Refused) and not (was_in_doubt and attempt.is_blind):
                raise attempt.error
            problem = f"{attempt.error.code}: {attempt.error.message}" if isinstance(attempt, Refused) else attempt.problem
            if in_doubt:
                raise _unknown(what, key, problem)
            if self.closed.is_set():
                raise _cancelled(what)
            raise HoldfastError(
                "unavailable", f"{what}: the server cannot be reached ({problem}); nothing was changed.", hint="Check the address, and whether the server runs."
            )

    async def _attempt(self, target: str, body: bytes | None, timeout: float) -> Attempt:
        response: AsyncResponse | None = None
        connection: AsyncConnection | None = None
        try:
            connection, response = await self.open(target, body, time.monotonic() + timeout)
            return judge(response.status, response.headers.get("retry-after"), await response.read(_ANSWER_BYTES_MAX))
        except LostConnection as error:
            return Lost(str(error), error.was_sent)
        finally:
            if connection is not None:
                self.settle(connection, response)


def _unknown(what: str, key: str | None, problem: str) -> HoldfastError:
    takes_key = what != "effects.begin"
    return HoldfastError(
        "outcome_unknown",
        f"{what}: the answer was lost ({problem}); the change may or may not have happened.",
        hint="Call again with the same arguments and this request_key: within 24 hours of the first attempt, it cannot take effect twice."
        if takes_key
        else "Begin it again with the same arguments: its record shows what happened.",
        details={"requestKey": key} if takes_key else {},
    )


def _cancelled(what: str) -> HoldfastError:
    return HoldfastError("cancelled", f"{what}: the client is closed; nothing was changed.")
