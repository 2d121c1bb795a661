"""What the async client does in its own way; everything else is the sync client's code."""

from __future__ import annotations

import asyncio
import unittest
from typing import Any

import holdfast.aio
from holdfast import HoldfastError
from holdfast.outcomes import WorkDone
from holdfast.results import LeaseAcquired, StateSet
from support import COMMAND, PROXY, URL, control, namespace


class Async(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.namespace = namespace()
        self.client = await self.connect(URL)
        self.addCleanup(control, "heal")

    async def connect(self, url: str, **options: Any) -> holdfast.aio.AsyncHoldfast:
        client = await holdfast.aio.connect(url, **{"namespace": self.namespace, "agent": "a1", **options})
        self.addAsyncCleanup(client.close)
        return client

    async def act(self, name: str, given: Any = None) -> Any:
        return await asyncio.to_thread(control, name, given)

    async def test_writes_whose_answers_were_lost_take_effect_once(self) -> None:
        behind = await self.connect(PROXY)
        await self.act("fault", {"kind": "cut-answers", "afterBytes": 20, "times": 3})
        results = await asyncio.gather(*(behind.state.set(f"k/{i}", i) for i in range(10)))
        self.assertEqual({type(each) for each in results}, {StateSet})
        self.assertEqual((await self.client.history(prefix="k/")).total, 10)

    async def test_a_watch_resumes_after_the_server_was_killed(self) -> None:
        behind = await self.connect(PROXY)
        async with behind.state.watch(prefix="w/", after=0) as watch:
            await self.client.state.set("w/k", 0)
            first = await watch.__anext__()
            await self.act("restart")
            await self.client.state.set("w/k", 1)
            async for change in watch:
                self.assertEqual((first.version, change.version, change.value), (1, 2, 1))
                break

    async def test_a_lost_lease_is_told_in_the_block_and_at_its_end(self) -> None:
        with self.assertRaises(HoldfastError) as caught:
            async with self.client.lease("deploy", ttl=3) as lease:
                await self.client.leases.release("deploy", token=lease.token)
                await self.client.leases.acquire("deploy", ttl=60, agent="a2")
                while not lease.lost:
                    await asyncio.sleep(0.01)
        self.assertEqual(caught.exception.code, "lease_lost")

    async def test_a_cancelled_wait_leaves_no_lease_behind(self) -> None:
        held = await self.client.leases.acquire("deploy", ttl=60)
        assert isinstance(held, LeaseAcquired)
        waiting = asyncio.ensure_future(self.client.leases.acquire("deploy", ttl=60, wait=60, agent="a2"))
        await asyncio.sleep(0)
        waiting.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await waiting
        await self.client.leases.release("deploy")
        again = await self.client.leases.acquire("deploy", ttl=60, agent="a3", wait=60)
        self.assertTrue(again.ok)

    async def test_steps_may_run_side_by_side(self) -> None:
        ran: list[str] = []

        async def slow(attempt: holdfast.aio.AsyncStepAttempt) -> str:
            ran.append("slow")
            return f"attempt {attempt.attempt}"

        async def handler(run: holdfast.aio.AsyncRun) -> list[str]:
            first = [await run.step("slow", slow), await run.step("pay", slow, effect=True)]
            return first + await asyncio.gather(*(run.step(f"s{i}", slow) for i in range(3)))

        done = await self.client.run_workflow("w", handler, run_id="r")
        self.assertEqual(done, WorkDone(run_id="r", result=["attempt 1"] * 5))
        self.assertEqual((await self.client.run_workflow("w", handler, run_id="r"), len(ran)), (done, 5))

    async def test_a_server_of_its_own_ends_with_the_client(self) -> None:
        async with await holdfast.aio.open(store="memory:", command=COMMAND, agent="a1") as own:
            self.assertTrue((await own.state.set("k", 1)).ok)
            process = own._local and own._local._process
        self.assertEqual(process and process.returncode, 0)

    async def test_a_closed_client_ends_its_watches(self) -> None:
        watch = self.client.state.watch(key="quiet")

        async def look() -> list[Any]:
            return [change async for change in watch]

        watching = asyncio.ensure_future(look())
        await asyncio.sleep(0)
        await self.client.close()
        self.assertEqual(await watching, [])
        with self.assertRaises(HoldfastError) as caught:
            await self.client.state.get("k")
        self.assertEqual(caught.exception.code, "cancelled")


if __name__ == "__main__":
    unittest.main()
