"""What needs no server."""

from __future__ import annotations

import inspect
import subprocess
import sys
import time
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import holdfast.aio
from holdfast import HoldfastError, SetWrite
from holdfast._attempt import Answered, Lost, Refused, judge
from holdfast._json_values import require_json
from holdfast._options import CallLimits, parse_url
from holdfast._server_events import EventParser
from holdfast._server_table import METHODS, Method
from holdfast._wire import decoder, encode, python_name
from holdfast.results import LeaseAcquired, LeaseRefused, StateEntry
from holdfast.sync._calls import Calls

MAKE_SYNC = Path(__file__).parent.parent / "scripts" / "make_sync.py"
GROUPS = {"state", "leases", "workflows", "effects", "sessions", "journal", "research", "knowledge"}


def missing(client: type, methods: dict[str, Method]) -> list[str]:
    """Methods and arguments that the server has and the client has not, and the other way round."""
    problems = []
    parts = client(None, None)
    for name, (writes, required, optional) in methods.items():
        owner: Any = parts
        for part in name.split("."):
            owner = getattr(owner, python_name(part), None)
        if owner is None:
            problems.append(f"{name} is missing")
            continue
        given = {each for each in inspect.signature(owner).parameters if each not in ("agent", "request_key")}
        wanted = {python_name(each) for each in (*required, *optional)}
        problems += [f"{name}: {each} is missing" for each in wanted - given] + [f"{name}: {each} is unknown to the server" for each in given - wanted]
        if writes and name != "effects.begin" and "request_key" not in inspect.signature(owner).parameters:
            problems.append(f"{name}: request_key is missing")
    return problems


class LosingCalls(Calls):
    """Every answer is lost, and a day passes while it waits for the next attempt."""

    attempts = 0

    def _attempt(self, target: str, body: bytes | None, timeout: float) -> Lost:
        self.attempts += 1
        return Lost("cut off", was_sent=True)


class Retries(unittest.TestCase):
    def test_a_request_key_that_the_server_may_have_forgotten_is_not_sent_again(self) -> None:
        calls = LosingCalls(parse_url("http://127.0.0.1:1", None), None, CallLimits(10 * 86_400.0, 1.0))
        day_later = time.time() + 86_400.0
        with mock.patch.object(calls.closed, "wait", side_effect=[False] * 20), mock.patch.object(time, "time", side_effect=[time.time(), *[day_later] * 20]):
            with self.assertRaises(HoldfastError) as caught:
                calls._until_answered("state.set", "/", b"{}", "key-1", 10 * 86_400.0, 0.0)
        self.assertEqual((caught.exception.code, calls.attempts), ("outcome_unknown", 1))


class Table(unittest.TestCase):
    def test_both_clients_have_every_method_and_argument_of_the_server(self) -> None:
        for client in (holdfast.Holdfast, holdfast.aio.AsyncHoldfast):
            self.assertEqual(missing(client, METHODS), [])

    def test_a_method_or_an_argument_that_was_forgotten_is_found(self) -> None:
        planted = {**METHODS, "state.rename": Method(True, ("key",), ()), "state.get": Method(False, ("key",), ("version", "revision", "asOfMs"))}
        self.assertEqual(missing(holdfast.Holdfast, planted), ["state.get: as_of is missing", "state.rename is missing"])

    def test_no_method_is_unknown_to_the_server(self) -> None:
        made_of_others = {"effects.once"}
        client = holdfast.Holdfast(None, None)  # type: ignore[arg-type]
        for group in GROUPS:
            names = {f"{group}.{name}" for name, _ in inspect.getmembers(getattr(client, group), inspect.ismethod) if not name.startswith("_")}
            known = {".".join(python_name(part) for part in name.split(".")) for name in METHODS}
            self.assertEqual(names - known - made_of_others, set())

    @unittest.skipUnless(MAKE_SYNC.exists(), "the sources are not here")
    def test_the_sync_client_is_the_one_that_the_async_client_gives(self) -> None:
        made = subprocess.run([sys.executable, str(MAKE_SYNC), "--check"], capture_output=True, text=True, check=False)
        self.assertEqual((made.returncode, made.stdout), (0, ""))


class Wire(unittest.TestCase):
    def test_names_and_units(self) -> None:
        for wire, name in [("ttlMs", "ttl"), ("expectedVersion", "expected_version"), ("fromMs", "from_"), ("as", "as_"), ("global", "global_")]:
            self.assertEqual(python_name(wire), name)
        self.assertEqual(encode(SetWrite(key="k", value={"someKey": 1}, ttl=1.5)), {"op": "set", "key": "k", "value": {"someKey": 1}, "ttlMs": 1500})

    def test_a_union_is_read_by_its_literals_and_unknown_members_are_left_out(self) -> None:
        read = decoder(LeaseAcquired, LeaseRefused)
        self.assertEqual(read({"ok": False, "resource": "r", "heldBy": "a", "news": 1}), LeaseRefused(resource="r", held_by="a"))
        with self.assertRaises(HoldfastError):
            read({"ok": "perhaps"})
        with self.assertRaises(HoldfastError):
            decoder(StateEntry)(None)

    def test_what_is_no_json_is_refused_by_its_field(self) -> None:
        deep: Any = 1
        for _ in range(70):
            deep = [deep]
        for value in (float("nan"), {"a": {1}}, {1: 2}, 2**60, b"x", {"a": object()}, deep):
            with self.assertRaises(HoldfastError) as caught:
                require_json(value, "value")
            self.assertEqual(caught.exception.details, {"field": "value"})
        require_json({"a": [None, True, 1, 1.5, "x", {}]}, "value")

    def test_events_are_the_same_wherever_the_bytes_are_cut(self) -> None:
        stream = ': keep-alive\n\nid: 1\nevent: watching\ndata: {}\n\nid: 2\r\nevent: change\r\ndata: ["ü"]\r\n\r\n'.encode()
        whole = list(EventParser().push(stream))
        self.assertEqual([(each.id, each.event, each.data) for each in whole], [("1", "watching", "{}"), ("2", "change", '["ü"]')])
        for size in range(1, len(stream)):
            parser = EventParser()
            self.assertEqual([event for at in range(0, len(stream), size) for event in parser.push(stream[at : at + size])], whole)

    def test_answers_are_judged_as_answered_refused_or_lost(self) -> None:
        self.assertEqual(judge(200, None, b'{"result":1}'), Answered({"result": 1}))
        refused = judge(503, "2", b'{"error":{"code":"unavailable","message":"busy"}}')
        assert isinstance(refused, Refused)
        self.assertEqual((refused.error.code, refused.at_least, refused.error.retryable), ("unavailable", 2.0, True))
        self.assertIsInstance(judge(502, None, b"<html>"), Lost)
        self.assertIsInstance(judge(302, None, b""), Refused)
        self.assertIsInstance(judge(404, None, b"<html>"), Refused)

    def test_wrong_addresses_are_refused_by_name(self) -> None:
        for url in ("nowhere", "ftp://127.0.0.1", "http://user:secret@127.0.0.1:1", "http://127.0.0.1:99999"):
            with self.assertRaises(HoldfastError) as caught:
                parse_url(url, None)
            self.assertTrue(caught.exception.message.startswith("url: "))
        self.assertEqual(parse_url("http://[::1]:8000/base", None).target("api", "ns", "a/b"), "/base/api/ns/a%2Fb")


if __name__ == "__main__":
    unittest.main()
