"""What the tests share. The servers and the fault proxy are started by test/python.test.ts."""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import holdfast

URL = os.environ.get("HOLDFAST_TEST_URL", "")
PROXY = os.environ.get("HOLDFAST_TEST_PROXY", "")
COMMAND = json.loads(os.environ.get("HOLDFAST_TEST_COMMAND", "[]"))


def control(act: str, given: Any = None) -> Any:
    """Changes the network or the server: `fault`, `heal`, `counters`, `restart`."""
    request = urllib.request.Request(f"{os.environ['HOLDFAST_TEST_CONTROL']}/{act}", json.dumps(given).encode(), method="POST")
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())


def namespace() -> str:
    return f"py-{secrets.token_hex(6)}"


def connect(url: str = URL, **options: Any) -> holdfast.Holdfast:
    return holdfast.connect(url, **{"namespace": namespace(), "agent": "a1", **options})


def until(is_so: Callable[[], object]) -> None:
    """Waits for an event; the runner ends a run that makes no progress."""
    while not is_so():
        time.sleep(0.01)


class Gateway:
    """Before the server: passes requests on, loses the answer of the first `state.set`, and answers the later ones itself."""

    def __init__(self, status: int, body: bytes) -> None:
        sets = 0

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.answer(200, self.passed_on(None))

            def do_POST(self) -> None:
                nonlocal sets
                given = self.rfile.read(int(self.headers["content-length"]))
                sets += 1
                if sets == 1:
                    self.passed_on(given)
                    self.close_connection = True
                else:
                    self.answer(status, body)

            def passed_on(self, given: bytes | None) -> bytes:
                request = urllib.request.Request(URL + self.path, given, {"content-type": "application/json"})
                with urllib.request.urlopen(request) as answer:
                    return bytes(answer.read())

            def answer(self, status: int, text: bytes) -> None:
                self.send_response(status)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Gateway:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
