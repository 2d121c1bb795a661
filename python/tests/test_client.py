"""Against a real server, through a network that fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path
from typing import Any

import holdfast
from holdfast import EffectNotDone, HoldfastError, LeaseRef
from holdfast.outcomes import WorkDone, WorkFailed, WorkHeld, WorkParked, WorkStopped
from holdfast.results import LeaseAcquired, OnceDone, OnceRefused, StateSet
from support import COMMAND, PROXY, URL, Gateway, connect, control, namespace, until

EXAMPLE = Path(__file__).parent.parent / "examples" / "worker_pool.py"


class Retries(unittest.TestCase):
    def setUp(self) -> None:
        self.namespace = namespace()
        self.direct = connect(namespace=self.namespace)
        self.addCleanup(self.direct.close)
        self.addCleanup(control, "heal")

    def through_proxy(self, **options: Any) -> holdfast.Holdfast:
        client = connect(PROXY, namespace=self.namespace, **options)
        self.addCleanup(client.close)
        return client

    def test_writes_whose_answers_were_lost_take_effect_once(self) -> None:
        client = self.through_proxy()
        cuts = control("counters")["cuts"]
        for i in range(5):
            control("fault", {"kind": "cut-answers", "afterBytes": 20, "times": 2})
            self.assertEqual(client.state.set("k", i), StateSet(key="k", version=i + 1, revision=i + 1))
        self.assertEqual(control("counters")["cuts"] - cuts, 10)
        self.assertEqual(self.direct.history(name="k").total, 5)

    def test_an_effect_is_performed_once_although_every_answer_is_lost_once(self) -> None:
        client = self.through_proxy()
        performed: list[int] = []
        for _ in range(2):
            control("fault", {"kind": "cut-answers", "afterBytes": 20, "times": 1, "since": "effects.begin"})
            result = client.effects.once("pay", {"n": 1}, lambda effect: performed.append(effect.attempt) or "receipt")  # type: ignore[func-returns-value]
            assert isinstance(result, OnceDone)
            self.assertEqual(result.answer, "receipt")
        self.assertEqual(performed, [1])

    def test_only_when_its_time_is_up_is_the_outcome_unknown_and_its_key_tells_it(self) -> None:
        client = self.through_proxy(timeout=0.1, retry_for=0.25)
        control("fault", {"kind": "black-hole", "only": "answers"})
        with self.assertRaises(HoldfastError) as caught:
            client.state.set("k", 1)
        self.assertEqual(caught.exception.code, "outcome_unknown")
        with self.assertRaises(HoldfastError) as read:
            client.state.get("k")
        self.assertEqual(read.exception.code, "unavailable")
        control("heal")
        until(lambda: self.direct.state.get("k"))
        result = client.state.set("k", 1, request_key=caught.exception.request_key)
        self.assertEqual((result.ok, self.direct.history(name="k").total), (True, 1))

    def test_an_answer_that_is_not_the_domains_after_a_lost_one_leaves_the_outcome_unknown(self) -> None:
        route = b'{"error":{"code":"not_found","message":"There is nothing at this path.","details":{"reason":"route"}}}'
        for i, (status, body) in enumerate([(404, b"default backend - 404"), (302, b""), (404, route)]):
            with self.subTest(status=status, body=body), Gateway(status, body) as gateway, connect(gateway.url, namespace=self.namespace) as client:
                with self.assertRaises(HoldfastError) as caught:
                    client.state.set(f"g/{i}", 1)
                self.assertEqual(caught.exception.code, "outcome_unknown")
                self.assertEqual(self.direct.state.set(f"g/{i}", 1, request_key=caught.exception.request_key), StateSet(key=f"g/{i}", version=1, revision=i + 1))

    def test_a_server_that_comes_back_in_time_is_waited_for(self) -> None:
        client = self.through_proxy()
        client.state.set("k", 1)
        control("fault", {"kind": "refuse"})
        writing = threading.Thread(target=client.state.set, args=("k", 2))
        writing.start()
        control("heal")
        writing.join()
        self.assertEqual(self.direct.history(name="k").total, 2)

    def test_a_watch_resumes_after_the_server_was_killed_and_skips_and_repeats_nothing(self) -> None:
        client = self.through_proxy()
        watch = client.state.watch(prefix="w/", after=0)
        seen: list[tuple[str, int]] = []
        for i in range(3):
            self.direct.state.set("w/k", i)
            seen.append((next(watch).key, i))
        control("restart")
        self.direct.state.set("w/k", 3)
        self.direct.state.set("w/k", 4)
        versions = [next(watch).version, next(watch).version]
        self.assertEqual((len(seen), versions), (3, [4, 5]))
        watch.close()
        self.assertEqual(list(watch), [])

    def test_many_threads_share_a_client(self) -> None:
        client = self.through_proxy()
        threads = [threading.Thread(target=client.state.set, args=(f"t/{i}", i)) for i in range(20)]
        control("fault", {"kind": "cut-answers", "afterBytes": 20, "times": 10})
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([entry.value for entry in client.state.list(prefix="t/").entries], sorted(range(20), key=str))
        self.assertEqual(client.history(prefix="t/").total, 20)

    def test_a_closed_client_calls_nobody_and_ends_its_watches(self) -> None:
        client = self.through_proxy()
        watch = client.state.watch(key="quiet")
        ended = threading.Thread(target=lambda: list(watch))
        ended.start()
        client.close()
        ended.join()
        with self.assertRaises(HoldfastError) as caught:
            client.state.get("k")
        self.assertEqual(caught.exception.code, "cancelled")


class Leases(unittest.TestCase):
    def setUp(self) -> None:
        self.client = connect()
        self.addCleanup(self.client.close)
        self.addCleanup(control, "heal")

    def test_a_lease_is_renewed_meanwhile_and_released_at_the_end(self) -> None:
        with self.client.lease("deploy", ttl=3) as lease:
            first = self.client.leases.list().leases[0]
            until(lambda: self.client.leases.list().leases[0].expires_at > first.expires_at)
            self.assertTrue(self.client.state.set("k", 1, lease=lease).ok)
            with self.assertRaises(HoldfastError) as caught, self.client.lease("deploy", ttl=1, agent="a2"):
                self.fail("Two hold it.")
            self.assertEqual(caught.exception.code, "claim_held")
            self.assertFalse(lease.lost)
        self.assertEqual(self.client.leases.list().leases, [])

    def test_a_lost_lease_is_told_in_the_block_and_at_its_end(self) -> None:
        with self.assertRaises(HoldfastError) as caught, self.client.lease("deploy", ttl=3) as lease:
            self.client.leases.release("deploy", token=lease.token)
            self.assertTrue(self.client.leases.acquire("deploy", ttl=60, agent="a2").ok)
            until(lambda: lease.lost)
            with self.assertRaises(HoldfastError) as refused:
                self.client.state.set("k", 1, lease=lease)
            self.assertEqual(refused.exception.code, "lease_lost")
            self.assertRaises(HoldfastError, lease.require)
        self.assertEqual((caught.exception.code, "a2" in caught.exception.message), ("lease_lost", True))
        self.assertEqual([each.holder for each in self.client.leases.list().leases], ["a2"])

    def test_a_server_that_stays_silent_ends_a_lease_before_another_can_have_it(self) -> None:
        with connect(PROXY, namespace=self.client.namespace) as behind, self.assertRaises(HoldfastError), behind.lease("deploy", ttl=1) as lease:
            assert lease._hold is not None
            # Both by this machine's clock: the holder's deadline comes before the store's, however slowly this test runs.
            deadline = lease._hold._deadline + (time.time() - time.monotonic())
            self.assertLess(deadline, self.client.leases.list().leases[0].expires_at)
            control("fault", {"kind": "black-hole"})
            until(lambda: lease.lost)
            control("heal")

    def test_whoever_waits_in_line_gets_it(self) -> None:
        held = self.client.leases.acquire("deploy", ttl=60)
        assert isinstance(held, LeaseAcquired)
        tokens: list[int] = []

        def wait() -> None:
            with self.client.lease("deploy", ttl=60, wait=60, agent="a2") as lease:
                tokens.append(lease.token)

        waiting = threading.Thread(target=wait)
        waiting.start()
        self.client.leases.release("deploy")
        waiting.join()
        self.assertGreater(tokens[0], held.token)


class Workflows(unittest.TestCase):
    def setUp(self) -> None:
        self.client = connect()
        self.addCleanup(self.client.close)

    def test_a_run_that_was_taken_away_is_continued_and_finished_steps_do_not_run_again(self) -> None:
        ran: list[str] = []

        def handler(run: holdfast.Run) -> holdfast.Json:
            run.step("one", lambda _: ran.append("one"))
            run.step("mail", lambda attempt: ran.append("mail") or attempt.effect_id, effect=True)  # type: ignore[func-returns-value]
            if ran.count("again") == 0:
                ran.append("again")
                holder = self.client.workflows.get(run.run_id).agent_id
                self.client.workflows.give_back(run.run_id, token=run.claim.token, agent=holder)
            return run.step("two", lambda _: ran.append("two") or "end")  # type: ignore[func-returns-value]

        self.assertIsInstance(self.client.run_workflow("w", handler, run_id="r"), WorkHeld)
        self.assertEqual(self.client.run_workflow("w", handler, run_id="r"), WorkDone(run_id="r", result="end"))
        self.assertEqual(ran, ["one", "mail", "again", "two", "two"])

    def test_a_step_is_retried_and_a_failing_run_says_why(self) -> None:
        tries: list[int] = []

        def flaky(attempt: holdfast.StepAttempt) -> str:
            tries.append(attempt.attempt)
            if attempt.attempt < 3:
                raise ValueError("not yet")
            return "at last"

        done = self.client.run_workflow("w", lambda run: run.step("flaky", flaky, retries=2, backoff=0.001), run_id="r1")
        self.assertEqual((done, tries), (WorkDone(run_id="r1", result="at last"), [1, 2, 3]))
        failed = self.client.run_workflow("w", lambda run: run.step("flaky", flaky), run_id="r2")
        self.assertEqual(failed, WorkFailed(run_id="r2", error={"name": "ValueError", "message": "not yet"}))
        twice = self.client.run_workflow("w", lambda run: [run.step("same", lambda _: 1), run.step("same", lambda _: 2)], run_id="r3")
        self.assertEqual(twice.status, "failed")

    def test_an_unknown_effect_parks_the_run_until_somebody_resolves_it(self) -> None:
        sent: list[int] = []

        def mail(attempt: holdfast.StepAttempt) -> str:
            sent.append(attempt.attempt)
            raise ConnectionError("the line went dead")

        def handler(run: holdfast.Run) -> holdfast.Json:
            return run.step("mail", mail, effect=True, retries=5)

        parked = self.client.run_workflow("w", handler, run_id="r")
        assert isinstance(parked, WorkParked)
        self.assertEqual((parked.reason, parked.step), ("effect_unknown", "mail"))
        self.assertIsInstance(self.client.run_workflow("w", handler, run_id="r"), WorkParked)
        self.client.effects.resolve(parked.effect_id or "", "done", answer="sent")
        self.assertEqual(self.client.run_workflow("w", handler, run_id="r"), WorkDone(run_id="r", result="sent"))
        self.assertEqual(sent, [1])

    def test_an_effect_that_did_not_happen_is_tried_again(self) -> None:
        def mail(attempt: holdfast.StepAttempt) -> str:
            if attempt.attempt == 1:
                raise EffectNotDone("the server refused it")
            return "sent"

        done = self.client.run_workflow("w", lambda run: run.step("mail", mail, effect=True, retries=1, backoff=0.001), run_id="r")
        self.assertEqual(done, WorkDone(run_id="r", result="sent"))

    def test_a_long_sleep_and_a_wait_give_the_run_back(self) -> None:
        parked = self.client.run_workflow("w", lambda run: run.sleep("night", 3600), run_id="r1")
        self.assertEqual(parked, WorkParked(run_id="r1", reason="sleep", step="night"))
        self.client.signal(self.client.start_workflow("w", run_id="r2").run_id, "go", {"by": "ann"})
        self.assertEqual(self.client.run_workflow("w", lambda run: run.wait_for("go"), run_id="r2"), WorkDone(run_id="r2", result={"by": "ann"}))
        late = self.client.run_workflow("w", lambda run: [run.wait_for("go", timeout=0)], run_id="r3")
        self.assertEqual(late, WorkDone(run_id="r3", result=[None]))
        self.assertRaises(HoldfastError, self.client.signal, "r3", "go")

    def test_a_pool_of_workers_does_every_run_once(self) -> None:
        for i in range(12):
            self.client.start_workflow("job", input=i)
        done: list[Any] = []
        self.client.work("job", lambda run: run.step("do", lambda _: run.input), concurrency=4, stops_when_idle=True, on_outcome=done.append)
        self.assertEqual(sorted(each.result for each in done), list(range(12)))

    def test_a_worker_that_is_told_to_stop_gives_its_run_back(self) -> None:
        stop = holdfast.Event()

        def handler(run: holdfast.Run) -> None:
            stop.set()
            run.step("never", lambda _: self.fail("It stops first."))

        self.assertEqual(self.client.run_workflow("w", handler, run_id="r", stop=stop), WorkStopped(run_id="r"))
        self.assertEqual(self.client.run_workflow("w", lambda run: None, run_id="r").status, "done")


class Effects(unittest.TestCase):
    def test_once_stores_the_answer_and_keeps_an_error_unknown(self) -> None:
        with connect() as client:
            lease = client.leases.acquire("bank", ttl=60)
            assert isinstance(lease, LeaseAcquired)
            for repeated in (False, True):
                paid = client.effects.once("pay", 1, lambda _: "receipt", guard=lease)
                assert isinstance(paid, OnceDone)
                self.assertEqual((paid.answer, paid.repeated), ("receipt", repeated))
            self.assertRaises(ZeroDivisionError, client.effects.once, "pay", 2, lambda _: 1 / 0)
            refused = client.effects.once("pay", 2, lambda _: self.fail("It is unknown."))
            assert isinstance(refused, OnceRefused)
            self.assertEqual(refused.reason, "unknown")
            with self.assertRaises(HoldfastError) as caught:
                client.effects.once("pay", 3, lambda _: self.fail("The guard is stale."), guard=LeaseRef("bank", 999))
            self.assertEqual(caught.exception.code, "lease_lost")
            odd = client.effects.once("pay", 4, lambda _: object())
            again = client.effects.once("pay", 4, lambda _: self.fail("It was done."))
            self.assertTrue(odd.ok and isinstance(again, OnceDone) and "answer_not_kept" in str(again.answer))


class LocalServers(unittest.TestCase):
    def test_a_program_that_is_killed_takes_its_server_with_it(self) -> None:
        program = f"import holdfast, time; c = holdfast.open(store='memory:', command={COMMAND!r}); c.state.set('k', 1)\nprint(c._local.url, flush=True); time.sleep(600)"
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            url = child.stdout.readline().strip()
            with holdfast.connect(url) as client:
                entry = client.state.get("k")
                self.assertEqual(entry and entry.value, 1)
                child.send_signal(signal.SIGKILL)
                child.wait()
            until(lambda: is_gone(url))

    @unittest.skipUnless(hasattr(os, "fork"), "this system has no fork")
    def test_a_forked_child_uses_the_server_and_leaves_it_to_its_parent(self) -> None:
        program = f"""if True:
            import os, holdfast
            client = holdfast.open(store="memory:", command={COMMAND!r})
            client.state.set("k", "parent")
            is_set, parent_is_over = os.pipe(), os.pipe()
            child = os.fork()
            if child == 0:
                os.close(parent_is_over[1])
                revision = client.state.set("k", "child").revision
                client.close()
                os.write(is_set[1], str(revision).encode())
                os.read(parent_is_over[0], 1)
                os._exit(0)
            revision = os.read(is_set[0], 10).decode()
            print(revision, client.state.get("k").value, client._local.url, flush=True)
            client.close()
            # The child still lives. If it held the pipe to the server, the server would have been killed instead of ending by itself.
            print(client._local._process.returncode, flush=True)
            os.close(parent_is_over[1])
            os.waitpid(child, 0)
        """
        shown = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        self.assertEqual(shown[:2] + shown[3:], ["2", "child", "0"])
        self.assertTrue(is_gone(shown[2]))

    def test_a_command_that_is_not_there_or_fails_is_named(self) -> None:
        for command in (["no-such-holdfast"], [*COMMAND, "--no-such-flag"]):
            with self.assertRaises(HoldfastError) as caught:
                holdfast.open(command=command)
            self.assertEqual(caught.exception.code, "unavailable")

    @unittest.skipUnless(EXAMPLE.exists(), "the examples are not here")
    def test_the_example_runs(self) -> None:
        shown = subprocess.run([sys.executable, str(EXAMPLE), URL, namespace()], capture_output=True, text=True, check=False)
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertIn("6 orders shipped, 6 payments", shown.stdout)


def is_gone(url: str) -> bool:
    try:
        holdfast.connect(url, retry_for=0).close()
    except HoldfastError:
        return True
    return False


if __name__ == "__main__":
    unittest.main()
