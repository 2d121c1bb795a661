"""HTTP/1.1 as the server and the proxies before it speak it: one request at a time on a connection."""

from __future__ import annotations

from collections.abc import Mapping

from .._attempt import LostConnection
from ._io import AsyncConnection

_HEADERS_MAX = 200
_PIECE_BYTES = 65_536


class AsyncResponse:
    """The head of an answer; its body is read by `read` and `read_piece`."""

    def __init__(self, connection: AsyncConnection, status: int, headers: Mapping[str, str]) -> None:
        self._connection = connection
        self.status = status
        self.headers = headers
        self._is_chunked = headers.get("transfer-encoding", "").lower() == "chunked"
        length = headers.get("content-length", "")
        self._left: int | None = 0 if self._is_chunked or status == 204 else int(length) if length.isdigit() else None
        self.is_complete = self._left == 0 and not self._is_chunked

    @property
    def may_reuse(self) -> bool:
        return self.is_complete and self.headers.get("connection", "").lower() != "close"

    async def read(self, bytes_max: int) -> bytes:
        """The whole body. Raises `LostConnection` where it breaks off or is longer."""
        body = bytearray()
        while piece := await self.read_piece():
            body += piece
            if len(body) > bytes_max:
                raise LostConnection(f"the answer has more than {bytes_max} bytes")
        return bytes(body)

    async def read_piece(self) -> bytes:
        """What has arrived of the body, as soon as anything has; empty at its end."""
        if self.is_complete:
            return b""
        if self._is_chunked and self._left == 0:
            self._left = await self._next_chunk()
            if self._left == 0:
                self.is_complete = True
                return b""
        wanted = _PIECE_BYTES if self._left is None else min(self._left, _PIECE_BYTES)
        piece = await self._connection.read_some(wanted)
        if self._left is None:
            # Without a length the end of the connection is the end of the body.
            self.is_complete = piece == b""
            return piece
        if piece == b"":
            raise LostConnection("the connection ended within the answer")
        self._left -= len(piece)
        if self._left == 0 and self._is_chunked:
            await self._connection.read_line()
        self.is_complete = self._left == 0 and not self._is_chunked
        return piece

    async def _next_chunk(self) -> int:
        line = await self._connection.read_line()
        try:
            size = int(line.split(b";")[0].strip(), 16)
        except ValueError as error:
            raise LostConnection("the connection ended within the answer") from error
        if size == 0:
            for _ in range(_HEADERS_MAX):
                if await self._connection.read_line() in (b"\r\n", b"\n", b""):
                    break
        return size


async def send_request(connection: AsyncConnection, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> AsyncResponse:
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if body is not None:
        lines.append(f"content-length: {len(body)}")
    head = "\r\n".join([*lines, "", ""]).encode("latin-1")
    await connection.send(head + (body or b""))
    while True:
        status, answered = await _read_head(connection)
        # Interim answers, such as 103, come before the real one.
        if status >= 200:
            return AsyncResponse(connection, status, answered)


async def _read_head(connection: AsyncConnection) -> tuple[int, dict[str, str]]:
    version, _, rest = (await connection.read_line()).decode("latin-1").partition(" ")
    code = rest[:3]
    if not version.startswith("HTTP/1.") or not code.isdigit():
        raise LostConnection("the connection ended before an answer" if version == "" else "the answer is not HTTP/1.1")
    headers: dict[str, str] = {}
    for _ in range(_HEADERS_MAX):
        line = (await connection.read_line()).decode("latin-1")
        if not line.endswith("\n"):
            raise LostConnection("the connection ended within the answer")
        if line in ("\r\n", "\n"):
            return int(code), headers
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    raise LostConnection(f"the answer has more than {_HEADERS_MAX} headers")
