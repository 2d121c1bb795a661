"""The session store for the Claude Agent SDK, without the SDK: its own contracts are run by tests/claude_contracts.py."""

from __future__ import annotations

import asyncio
import unittest
from typing import Any

import holdfast.aio
from holdfast import HoldfastError
from holdfast.claude import HoldfastSessionStore, LostSession
from support import PROXY, URL, control, namespace

MAIN = {"project_key": "-srv-app", "session_id": "5f0c2a52-6f0b-4a3e-9d53-0c4c5b1f7a11"}
SUB = {**MAIN, "subpath": "subagents/agent-1"}


def entry(**members: Any) -> dict[str, Any]:
    return {"type": "x", **members}


class ClaudeSessions(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.namespace = namespace()
        self.client = await self.connect(URL)
        self.lost: list[LostSession] = []
        self.addCleanup(control, "heal")

    async def connect(self, url: str, **options: Any) -> holdfast.aio.AsyncHoldfast:
        client = await holdfast.aio.connect(url, namespace=self.namespace, **options)
        self.addAsyncCleanup(client.close)
        return client

    def host(self, name: str, client: holdfast.aio.AsyncHoldfast | None = None, **options: Any) -> HoldfastSessionStore:
        store = HoldfastSessionStore(client or self.client, host=name, on_lost=self.lost.append, **options)
        self.addAsyncCleanup(store.close)
        return store

    async def refused(self, code: str, call: Any) -> HoldfastError:
        with self.assertRaises(HoldfastError) as caught:
            await call
        self.assertEqual(caught.exception.code, code)
        return caught.exception

    async def test_large_entries_and_batches_come_back_whole_and_in_order(self) -> None:
        store = self.host("blue")
        large = entry(uuid="large", text="a" + "😀\\" * 600_000, digits=2**80, lone="\ud800", deep=[[[[]]]])
        batch = [entry(uuid="first"), large, *(entry(uuid=f"u{i}", text="ö" * 1_000) for i in range(300))]
        await store.append(MAIN, batch)
        self.assertEqual(await store.load(MAIN), batch)

    async def test_entries_with_a_uuid_are_stored_once_and_others_as_often_as_they_come(self) -> None:
        store = self.host("blue")
        await store.append(MAIN, [entry(uuid="a"), entry(uuid="b"), entry(uuid="a")])
        await store.close()
        other = self.host("green")
        await other.append(MAIN, [entry(uuid="b"), entry(uuid="c"), entry(mark=1)])
        await other.append(MAIN, [entry(mark=1)])
        self.assertEqual([each.get("uuid") for each in await other.load(MAIN) or []], ["a", "b", "c", None, None])

    async def test_a_batch_whose_answer_was_lost_is_stored_once_and_none_is_dropped(self) -> None:
        store = self.host("blue", await self.connect(PROXY, retry_for=0.0))
        await store.append(MAIN, [entry(n=0)])
        for n in (1, 2):
            await asyncio.to_thread(control, "fault", {"kind": "cut-answers", "afterBytes": 20, "times": 2})
            for _ in range(2):
                await self.refused("outcome_unknown", store.append(MAIN, [entry(n=n)]))
        await asyncio.to_thread(control, "heal")
        await store.append(MAIN, [entry(n=3)])
        self.assertEqual([each["n"] for each in await store.load(MAIN) or []], [0, 1, 2, 3])

    async def test_a_live_session_is_refused_to_a_second_host(self) -> None:
        blue, green = self.host("blue"), self.host("green")
        await blue.append(MAIN, [entry(n=1)])
        for call in (green.load(MAIN), green.append(MAIN, [entry(n=2)]), green.delete(MAIN)):
            self.assertIn(blue.holder, str(await self.refused("claim_held", call)))
        self.assertEqual(await green.reader.load(MAIN), [entry(n=1)])
        await self.refused("read_only", green.reader.append(MAIN, [entry(n=2)]))
        await blue.release(MAIN["session_id"])
        self.assertEqual(await green.load(MAIN), [entry(n=1)])
        await self.refused("claim_held", blue.load(MAIN))

    async def test_a_session_that_was_taken_over_accepts_no_batch_of_the_host_before(self) -> None:
        blue, green = self.host("blue", lease=3), self.host("green")
        await blue.append(MAIN, [entry(n=1)])
        # What the store does with a host that stopped answering.
        await self.client.leases.release(f"claude/{MAIN['project_key']}/{MAIN['session_id']}", agent=blue.holder)
        self.assertEqual(await green.load(MAIN), [entry(n=1)])
        while not self.lost:
            await asyncio.sleep(0.01)
        self.assertEqual([each.held_by for each in self.lost], [green.holder])
        await self.refused("claim_held", blue.append(MAIN, [entry(n="stale")]))
        await green.append(MAIN, [entry(n=2)])
        await green.release(MAIN["session_id"])
        self.assertIn("green", str(await self.refused("lease_lost", blue.append(SUB, [entry(n="stale")]))))
        self.assertEqual(await blue.load(MAIN), [entry(n=1), entry(n=2)])
        self.assertEqual(await blue.list_subkeys(MAIN), [])

    async def test_what_is_no_json_or_has_no_name_changes_nothing(self) -> None:
        store = self.host("blue")
        wrongs: list[Any] = [None, "text", [], {"n": float("nan")}, {"n": {1}}]
        for wrong in wrongs:
            error = await self.refused("invalid_input", store.append(MAIN, [entry(), wrong]))
            self.assertIn("entries[1]", str(error))
        await self.refused("invalid_input", store.append({**MAIN, "project_key": ""}, [entry()]))
        self.assertIsNone(await store.load(MAIN))


if __name__ == "__main__":
    unittest.main()
