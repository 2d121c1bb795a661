"""Where the server is and how calls of it are made."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from .errors import invalid_input

Token = str | Callable[[], str]


@dataclass(frozen=True)
class ServerAddress:
    host: str
    port: int
    path: str
    host_header: str
    tls: ssl.SSLContext | None

    def target(self, *parts: str) -> str:
        return self.path + "/".join(quote(part, safe="") for part in parts)


@dataclass(frozen=True)
class CallLimits:
    retry_for: float
    timeout: float


def parse_url(url: str, tls: ssl.SSLContext | None) -> ServerAddress:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise invalid_input("url", "must be the address of a Holdfast server, such as http://127.0.0.1:8000")
    # A password in an address ends up in logs and histories.
    if parts.username is not None or parts.password is not None:
        raise invalid_input("url", "must hold no credential; pass it as token")
    is_tls = parts.scheme == "https"
    try:
        port = parts.port or (443 if is_tls else 80)
    except ValueError:
        raise invalid_input("url", "must have a port from 1 to 65535") from None
    path = parts.path if parts.path.endswith("/") else f"{parts.path}/"
    context = (tls or ssl.create_default_context()) if is_tls else None
    return ServerAddress(parts.hostname, port, path, parts.netloc, context)
