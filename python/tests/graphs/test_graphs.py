"""What LangGraph's own suite does not look at, against a real server."""

from __future__ import annotations

import asyncio
import operator
import os
import secrets
import time
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, TypedDict

import holdfast
import holdfast.aio
from holdfast import HoldfastError
from holdfast.langgraph import AsyncHoldfastSaver, AsyncHoldfastStore, HoldfastSaver, HoldfastStore, ThreadNotOwned
from holdfast.langgraph._records import Stored
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

URL = os.environ.get("HOLDFAST_TEST_URL", "")


def config_of(thread: str, ns: str = "", checkpoint_id: str | None = None) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, **({} if checkpoint_id is None else {"checkpoint_id": checkpoint_id})}}


def checkpoint_of(values: dict[str, Any], versions: dict[str, Any] | None = None) -> Checkpoint:
    return {
        "v": 4,
        "id": str(uuid6()),
        "ts": "2026-01-01T00:00:00+00:00",
        "channel_values": values,
        "channel_versions": dict.fromkeys(values, "1") if versions is None else versions,
        "versions_seen": {},
        "updated_channels": None,
    }


def put(saver: BaseCheckpointSaver[str], thread: str, values: dict[str, Any], ns: str = "", **metadata: Any) -> RunnableConfig:
    checkpoint = checkpoint_of(values)
    return saver.put(config_of(thread, ns), checkpoint, {"source": "loop", "step": 0, "parents": {}, **metadata}, checkpoint["channel_versions"])  # type: ignore[typeddict-item]


def id_of(config: RunnableConfig) -> str:
    return str(config.get("configurable", {})["checkpoint_id"])


def values_of(saver: BaseCheckpointSaver[str], config: RunnableConfig) -> dict[str, Any]:
    found = saver.get_tuple(config)
    assert found is not None
    return found.checkpoint["channel_values"]


class Graphs(unittest.TestCase):
    def setUp(self) -> None:
        self.namespace = f"graphs-{secrets.token_hex(6)}"
        self.client = self.connect()
        self.saver = HoldfastSaver(self.client)

    def connect(self) -> holdfast.Holdfast:
        client = holdfast.connect(URL, namespace=self.namespace, agent="worker")
        self.addCleanup(client.close)
        return client

    @contextmanager
    def refused(self, code: str) -> Iterator[None]:
        with self.assertRaises(ThreadNotOwned) as caught:
            yield
        self.assertEqual(caught.exception.code, code)


class Contents(Graphs):
    def test_a_long_value_that_does_not_change_is_stored_once(self) -> None:
        class State(TypedDict):
            document: str
            steps: Annotated[list[int], operator.add]

        builder = StateGraph(State)
        def step(state: State) -> dict[str, list[int]]:
            return {"steps": [len(state["steps"])]}

        builder.add_node("step", step)
        builder.add_edge(START, "step")
        builder.add_conditional_edges("step", lambda state: "step" if len(state["steps"]) < 20 else END)
        document = secrets.token_hex(500_000)
        graph = builder.compile(checkpointer=self.saver)
        result = graph.invoke({"document": document, "steps": []}, config_of("t"))
        self.assertEqual((result["document"], len(result["steps"])), (document, 20))
        entries = [entry for entry in self.client.state.list(prefix="langgraph-py/thread/", limit=100).entries if "channels" in str(entry.value)]
        self.assertEqual(len(entries), 22)
        # The first one has the input, before the channels have it.
        names = {str(value) for entry in entries[:-1] for value in [entry.value["channels"]["document"]]}  # type: ignore[index,call-overload]
        self.assertEqual(len(names), 1)
        self.assertLess(sum(len(str(entry.value)) for entry in entries), 100_000)
        self.assertEqual(values_of(HoldfastSaver(self.connect()), config_of("t"))["document"], document)

    def test_many_and_long_values_and_writes_come_back_as_they_were(self) -> None:
        values = {f"channel {i}": secrets.token_bytes(20_000) for i in range(60)} | {"short": [1, 2.5, None, {"a": ["b"]}], "unset": None}
        config = put(self.saver, "t", values)
        writes = [("__pregel_tasks", {"n": i, "text": secrets.token_hex(450)}) for i in range(1_500)] + [("__interrupt__", "first")]
        self.saver.put_writes(config, writes, "task", "path")
        self.saver.put_writes(config, [("__interrupt__", "second")], "task", "path")
        found = HoldfastSaver(self.connect()).get_tuple(config)
        assert found is not None and found.pending_writes is not None
        self.assertEqual(found.checkpoint["channel_values"], values)
        self.assertEqual(found.pending_writes, [("task", "__interrupt__", "second"), *(("task", *write) for write in writes[:-1])])

    def test_the_first_ordinary_writes_of_a_task_count_and_the_last_ones_of_its_interrupts(self) -> None:
        config = put(self.saver, "t", {})
        self.saver.put_writes(config, [("a", 1), ("b", 2)], "task")
        self.saver.put_writes(config, [("a", 3), ("b", 4), ("__error__", "late")], "task")
        self.saver.put_writes(config, [("a", 5), ("b", 6), ("c", 7)], "task")
        found = self.saver.get_tuple(config)
        assert found is not None
        self.assertEqual(found.pending_writes, [("task", "__error__", "late"), ("task", "a", 1), ("task", "b", 2), ("task", "c", 7)])

    def test_a_channel_that_is_left_out_because_it_did_not_change_keeps_its_value(self) -> None:
        first = put(self.saver, "t", {"a": "kept", "b": 1})
        for saver in (self.saver, HoldfastSaver(self.connect())):
            later = checkpoint_of({"b": 2}, {"a": "1", "b": "2"})
            config = saver.put(first, later, {"source": "loop", "step": 1, "parents": {}}, {"b": "2"})
            self.assertEqual(values_of(saver, config), {"a": "kept", "b": 2})

    def test_a_value_whose_blob_is_gone_is_stored_again(self) -> None:
        long = "x" * 50_000
        first = put(self.saver, "t", {"a": long, "b": 1})
        for key, (versions, channels) in list(self.saver._recent.items()):
            self.saver._recent[key] = (versions, {**channels, "a": Stored("msgpack", None, "0" * 64)})
        later = checkpoint_of({"a": long, "b": 2}, {"a": "1", "b": "2"})
        config = self.saver.put(first, later, {"source": "loop", "step": 1, "parents": {}}, {"b": "2"})
        self.assertEqual(values_of(self.saver, config), {"a": long, "b": 2})

    def test_checkpoints_expire_after_their_time(self) -> None:
        saver = HoldfastSaver(self.client, ttl=0.3)
        config = put(saver, "t", {"a": 1}, run_id="r")
        saver.put_writes(config, [("a", 2)], "task")
        until(lambda: saver.get_tuple(config) is None)
        until(lambda: not self.client.state.list(prefix="langgraph-py/").entries)


class Threads(Graphs):
    def test_names_of_any_form_keep_threads_apart(self) -> None:
        threads = ["a", "a/b", "a/", "%61", "é" * 200, "é" * 201, "~", " ", "a:b", "langgraph-py/thread/a"]
        for number, thread in enumerate(threads):
            for ns in ("", "node:1|child:2", "n" * 300):
                put(self.saver, thread, {"n": [number, ns]}, ns)
        for number, thread in enumerate(threads):
            self.assertEqual([values_of(self.saver, config_of(thread, ns))["n"][0] for ns in ("", "node:1|child:2", "n" * 300)], [number] * 3)
            self.assertEqual({found.config.get("configurable", {})["thread_id"] for found in self.saver.list({"configurable": {"thread_id": thread}})}, {thread})
        self.assertEqual(len(list(self.saver.list(None))), 30)
        self.saver.delete_thread("a")
        self.assertEqual(len(list(self.saver.list(None))), 27)

    def test_a_thread_is_listed_newest_first_across_its_namespaces(self) -> None:
        stored = [id_of(put(self.saver, "t", {"n": n}, ns)) for n in range(5) for ns in ("", "child:1")]
        listed = [id_of(found.config) for found in self.saver.list({"configurable": {"thread_id": "t"}})]
        self.assertEqual(listed, stored[::-1])
        before = [id_of(found.config) for found in self.saver.list({"configurable": {"thread_id": "t"}}, before=config_of("t", "", stored[4]), limit=2)]
        self.assertEqual(before, [stored[3], stored[2]])
        for ns, expected in (("child:1", [stored[5]]), ("", [])):
            only = [id_of(found.config) for found in self.saver.list(config_of("t", ns, stored[5]))]
            self.assertEqual(only, expected)

    def test_nothing_is_left_of_a_deleted_thread(self) -> None:
        for ns in ("", "child:1"):
            config = put(self.saver, "t", {"a": "x" * 20_000}, ns, run_id="r1")
            self.saver.put_writes(config, [("a", 1)], "task")
        self.saver.copy_thread("t", "u")
        self.saver.delete_thread("t")
        self.saver.prune(["u"], strategy="delete")
        self.assertEqual(self.client.state.list(prefix="langgraph-py/").entries, [])

    def test_pruning_keeps_what_a_delta_channel_is_built_from(self) -> None:
        class State(TypedDict):
            log: Annotated[list[str], DeltaChannel(lambda log, writes: [*log, *(each for write in writes for each in write)], snapshot_frequency=4)]

        builder = StateGraph(State)
        def say(state: State) -> dict[str, list[str]]:
            return {"log": [f"said {len(state['log'])}"]}

        builder.add_node("say", say)
        builder.add_edge(START, "say")
        builder.add_edge("say", END)
        graph = builder.compile(checkpointer=self.saver)
        count = 0
        for turn in range(7):
            graph.invoke({"log": [f"turn {turn}"]}, config_of("t"))
            log = graph.get_state(config_of("t")).values["log"]
            self.assertEqual(len(log), 2 * turn + 2)
            count = len(list(self.saver.list(config_of("t"))))
            self.saver.prune(["t"])
            self.assertEqual(graph.get_state(config_of("t")).values["log"], log)
            self.assertEqual(builder.compile(checkpointer=HoldfastSaver(self.connect())).get_state(config_of("t")).values["log"], log)
        self.assertLess(len(list(self.saver.list(config_of("t")))), count)
        self.assertLess(count, 12)


class Claims(Graphs):
    def test_what_others_do_to_a_claimed_thread_is_refused_until_its_owner_releases_it(self) -> None:
        other = HoldfastSaver(self.connect())
        config = put(other, "t", {"a": 1}, run_id="r")
        put(other, "u", {"a": 2})
        attempts: list[Callable[[], Any]] = [
            lambda: put(other, "t", {"a": 3}),
            lambda: other.put_writes(config, [("a", 3)], "task"),
            lambda: other.delete_thread("t"),
            lambda: other.prune(["t"], strategy="delete"),
            lambda: other.delete_for_runs(["r"]),
            lambda: other.copy_thread("u", "t"),
        ]
        with self.saver.claim("t"):
            put(self.saver, "t", {"a": 4})
            for attempt in attempts:
                with self.refused("claim_held"):
                    attempt()
            with self.assertRaises(HoldfastError) as caught, other.claim("t"):
                self.fail("The thread is held.")
            self.assertEqual(caught.exception.code, "claim_held")
            self.assertEqual(values_of(other, config_of("t")), {"a": 4})
            put(other, "u", {"a": 5})
        for attempt in attempts:
            attempt()

    def test_a_replaced_owner_stores_nothing_more_and_neither_does_a_worker_without_a_claim(self) -> None:
        other = HoldfastSaver(self.connect())
        with self.assertRaises(HoldfastError) as caught, self.saver.claim("t", ttl=6) as claim:
            config = put(self.saver, "t", {"a": 1})
            # What happens when a worker is stopped for longer than its time, without the wait.
            self.client.leases.release(claim.lease.resource, token=claim.lease.token, agent=claim._agent)
            with self.refused("claim_held"):
                put(other, "t", {"a": 2})
            with other.claim("t", ttl=60, wait=60):
                for attempt in (lambda: put(self.saver, "t", {"a": 3}), lambda: self.saver.put_writes(config, [("a", 3)], "task")):
                    with self.refused("lease_lost"):
                        attempt()
                put(other, "t", {"a": 4})
            until(lambda: claim.lost)
        self.assertEqual(caught.exception.code, "lease_lost")
        found = self.saver.get_tuple(config_of("t"))
        assert found is not None
        self.assertEqual((found.checkpoint["channel_values"], found.pending_writes), ({"a": 4}, []))
        put(self.saver, "t", {"a": 5})


class Interface(Graphs):
    def graph(self, saver: BaseCheckpointSaver[str], store: BaseStore | None = None) -> Any:
        class State(TypedDict):
            answers: Annotated[list[str], operator.add]

        def ask(state: State) -> State:
            return {"answers": [interrupt("name?"), interrupt("place?")]}

        builder = StateGraph(State)
        builder.add_node("ask", ask)
        builder.add_edge(START, "ask")
        builder.add_edge("ask", END)
        return builder.compile(checkpointer=saver, store=store)

    def test_an_interrupted_graph_is_resumed_by_another_process(self) -> None:
        self.graph(self.saver).invoke({"answers": []}, config_of("t"))
        for answer, expected in (("ann", []), ("kiel", ["ann", "kiel"])):
            result = self.graph(HoldfastSaver(self.connect())).invoke(Command(resume=answer), config_of("t"))
            self.assertEqual(result["answers"], expected)
        self.assertEqual([found.metadata.get("step") for found in self.saver.list(config_of("t"))], [1, 0, -1])

    def test_async_graphs_run_on_both_savers_and_threads_may_use_the_async_one(self) -> None:
        async def tell() -> None:
            async with await holdfast.aio.connect(URL, namespace=self.namespace, agent="worker") as client:
                saver = AsyncHoldfastSaver(client)
                async with saver.claim("t"):
                    await self.graph(saver).ainvoke({"answers": []}, config_of("t"))
                    await self.graph(saver).ainvoke(Command(resume="ann"), config_of("t"))
                result = await self.graph(self.saver).ainvoke(Command(resume="kiel"), config_of("t"))
                self.assertEqual(result["answers"], ["ann", "kiel"])
                self.assertEqual(await asyncio.to_thread(values_of, saver, config_of("t")), {"answers": ["ann", "kiel"]})
                self.assertEqual(len(await asyncio.to_thread(lambda: list(saver.list(config_of("t"))))), 3)
                with self.assertRaisesRegex(RuntimeError, "await aget_tuple"):
                    saver.get_tuple(config_of("t"))

        asyncio.run(tell())

    def test_what_is_missing_or_unknown_is_named(self) -> None:
        attempts: list[tuple[Callable[[], Any], str]] = [
            (lambda: self.saver.get_tuple({"configurable": {}}), "thread_id"),
            (lambda: self.saver.put_writes(config_of("t"), [], "task"), "checkpoint_id"),
            (lambda: self.saver.prune(["t"], strategy="some"), "strategy"),
            (lambda: self.saver.get_tuple(config_of("t", "", "x" * 65)), "checkpoint_id"),
        ]
        for attempt, field in attempts:
            with self.subTest(field=field), self.assertRaises(HoldfastError) as caught:
                attempt()
            self.assertEqual((caught.exception.code, caught.exception.details["field"]), ("invalid_input", field))


class Stores(Graphs):
    def test_it_answers_as_the_memory_store_of_langgraph_does(self) -> None:
        stores: list[BaseStore] = [InMemoryStore(), HoldfastStore(self.client)]
        told = [list(self.told(store)) for store in stores]
        self.assertEqual(told[1], told[0])

    def told(self, store: BaseStore) -> Iterator[Any]:
        for number, (namespace, key) in enumerate(
            [(("a",), "1"), (("a",), "2"), (("a", "b"), "1"), (("a", "b", "c"), "é/:%"), (("ab",), "1"), (("a", "0"), "k" * 300), (("z",), "")]
        ):
            store.put(namespace, key, {"n": number, "tags": ["x", number % 2], "in": {"deep": number, "other": None}})
        store.put(("a",), "1", {"n": 0, "changed": True})
        store.put(("z",), "gone", {"n": 9})
        store.delete(("z",), "gone")
        store.delete(("z",), "never there")
        for namespace, key in [(("a",), "1"), (("a", "b", "c"), "é/:%"), (("a", "0"), "k" * 300), (("z",), ""), (("z",), "gone"), (("a",), "1/")]:
            item = store.get(namespace, key)
            yield item and (item.namespace, item.key, item.value)
        for prefix in [(), ("a",), ("a", "b"), ("ab",), ("b",)]:
            yield sorted((item.namespace, item.key, item.value["n"]) for item in store.search(prefix, limit=100))
        filters: list[dict[str, Any]] = [{"n": 1}, {"n": {"$gte": 3}}, {"n": {"$lt": 3, "$ne": 1}}, {"in": {"deep": 2}}, {"tags": ["x", 1]}, {"changed": True}]
        for wanted in filters:
            yield sorted(item.value["n"] for item in store.search((), filter=wanted, limit=100))
        yield len({item.key for page in range(3) for item in store.search(("a",), limit=2, offset=2 * page)})
        yield [len(store.search(("a",), limit=limit, offset=offset)) for limit, offset in ((0, 0), (10, 4), (10, 9), (3, 1))]
        yield store.list_namespaces()
        yield store.list_namespaces(prefix=("a",), max_depth=2)
        yield store.list_namespaces(prefix=("*", "b"))
        yield store.list_namespaces(suffix=("c",))
        yield store.list_namespaces(suffix=("b", "*"))
        yield store.list_namespaces(prefix=("a",), limit=2, offset=1)

    def test_an_item_expires_and_reading_it_begins_its_time_again(self) -> None:
        store = HoldfastStore(self.client, ttl={"default_ttl": 60})
        store.put(("a",), "long", {"n": 1})
        store.put(("a",), "short", {"n": 2}, ttl=0.01)
        until(lambda: store.get(("a",), "short", refresh_ttl=False) is None)
        (entry,) = self.client.state.list(prefix="langgraph-py/item/").entries
        for read in (lambda: store.get(("a",), "long"), lambda: store.search(("a",))):
            before = self.client.state.get(entry.key)
            read()
            after = self.client.state.get(entry.key)
            assert before is not None and after is not None and before.expires_at is not None and after.expires_at is not None
            self.assertGreater(after.version, before.version)
            self.assertGreaterEqual(after.expires_at, before.expires_at)
        item = store.get(("a",), "long", refresh_ttl=False)
        assert item is not None
        self.assertEqual((item.value, item.created_at), ({"n": 1}, item.updated_at))

    def test_an_update_keeps_when_the_item_was_created_and_long_values_come_back(self) -> None:
        store = HoldfastStore(self.client)
        store.put(("a",), "k", {"n": 1})
        long = {"text": secrets.token_hex(1_000_000)}
        store.put(("a",), "k", long)
        item = HoldfastStore(self.connect()).get(("a",), "k")
        assert item is not None
        self.assertEqual(item.value, long)
        self.assertLess(item.created_at, item.updated_at)
        with self.assertRaises(HoldfastError) as caught:
            store.put(("a",), "k", {"when": time})
        self.assertEqual(caught.exception.details["field"], "value")

    def test_the_async_store_does_the_same(self) -> None:
        async def tell() -> None:
            async with await holdfast.aio.connect(URL, namespace=self.namespace, agent="worker") as client:
                store = AsyncHoldfastStore(client)
                await store.aput(("a", "b"), "k", {"n": 1})
                item = await HoldfastStore(self.client).aget(("a", "b"), "k")
                assert item is not None
                self.assertEqual(item.value, {"n": 1})
                self.assertEqual([each.key for each in await store.asearch(("a",), filter={"n": 1})], ["k"])
                self.assertEqual(await store.alist_namespaces(), [("a", "b")])
                self.assertEqual(await asyncio.to_thread(store.list_namespaces), [("a", "b")])

        asyncio.run(tell())


def until(is_so: Callable[[], object]) -> None:
    """Waits for an event; the runner ends a run that makes no progress."""
    while not is_so():
        time.sleep(0.01)


if __name__ == "__main__":
    unittest.main()
