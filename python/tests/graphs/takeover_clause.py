"""What a checkpointer must promise where several workers share its storage: a worker that was replaced stores nothing more.

    python takeover_clause.py MODULE:FACTORY ARGUMENT ROUNDS

Two worker processes run one graph. The first is stopped with SIGSTOP inside a node of every thread; the second takes the threads over; the first wakes and
returns from its nodes. Anything in a thread that changes then was stored by the replaced worker. In every other batch of rounds the second worker is still
inside its own node when the first one wakes, otherwise it has finished.

FACTORY(ARGUMENT, WORKER) is a context manager that gives a saver. A saver that can own threads has a method `claim(thread_id, ttl=…, wait=…)`, whose result is
a context manager; with one that has no such method, the workers just run. The file needs nothing but LangGraph. It prints its findings as JSON."""

from __future__ import annotations

import contextlib
import importlib
import json
import operator
import os
import queue
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import IO, Annotated, Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph

AT_ONCE = 25
TTL = 2.0

Factory = Callable[[str, str], AbstractContextManager["BaseCheckpointSaver[Any]"]]


class State(TypedDict):
    by: Annotated[list[str], operator.add]


def factory_named(name: str) -> Factory:
    module, function = name.split(":")
    made: Factory = getattr(importlib.import_module(module), function)
    return made


def owned(saver: BaseCheckpointSaver[Any], thread: str, wait: float | None) -> AbstractContextManager[Any]:
    claim = getattr(saver, "claim", None)
    return contextlib.nullcontext() if claim is None else claim(thread, ttl=TTL, wait=wait)


def config_of(thread: str, worker: str = "judge") -> RunnableConfig:
    return {"configurable": {"thread_id": thread}, "metadata": {"worker": worker}}


class Worker:
    """Reads commands from standard input and reports what happens to each thread on standard output."""

    def __init__(self, saver: BaseCheckpointSaver[Any], name: str) -> None:
        self.saver = saver
        self.name = name
        self.released = threading.Event()
        self.speaking = threading.Lock()
        builder = StateGraph(State)
        builder.add_node("work", self.work)
        builder.add_node("check", lambda state: {"by": [f"{name} checked"]})
        builder.add_edge(START, "work")
        builder.add_edge("work", "check")
        builder.add_edge("check", END)
        self.graph = builder.compile(checkpointer=saver)

    def work(self, state: State, config: RunnableConfig) -> dict[str, list[str]]:
        released = self.released
        self.say(config.get("configurable", {})["thread_id"], "entered")
        released.wait()
        return {"by": [self.name]}

    def say(self, thread: str, event: str, detail: str = "") -> None:
        with self.speaking:
            print(json.dumps([thread, event, detail]), flush=True)

    def run(self, thread: str, is_first: bool) -> None:
        try:
            with owned(self.saver, thread, None if is_first else 600.0):
                self.graph.invoke({"by": []} if is_first else None, config_of(thread, self.name), durability="sync")
            self.say(thread, "completed")
        except Exception as error:
            self.say(thread, "failed", f"{type(error).__name__}: {error}")

    def listen(self, commands: IO[str]) -> None:
        for line in commands:
            command, threads = json.loads(line)
            if command == "release":
                self.released.set()
                continue
            self.released = threading.Event()
            for thread in threads:
                threading.Thread(target=self.run, args=(thread, command == "begin"), daemon=True).start()


class WorkerProcess:
    def __init__(self, name: str, factory: str, argument: str) -> None:
        command = [sys.executable, __file__, "--worker", name, factory, argument]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.events: queue.SimpleQueue[tuple[str, str, str] | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.events.put(tuple(json.loads(line)))
        self.events.put(None)

    def tell(self, command: str, threads: list[str] | None = None) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([command, threads or []]) + "\n")
        self.process.stdin.flush()

    def wait_for(self, threads: list[str], *awaited: str) -> dict[str, tuple[str, str]]:
        """What happened to each of the threads, once one of these events did."""
        seen: dict[str, tuple[str, str]] = {}
        while len(seen) < len(threads):
            event = self.events.get()
            if event is None:
                raise RuntimeError(f"A worker ended with exit code {self.process.wait()} although threads are unfinished.")
            if event[0] in threads and event[1] in awaited:
                seen[event[0]] = event[1:]
        return seen

    def send(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def end(self) -> None:
        assert self.process.stdin is not None
        self.send(signal.SIGCONT)
        self.process.stdin.close()
        self.process.wait()


def contents(saver: BaseCheckpointSaver[Any], thread: str) -> list[Any]:
    """Everything that the thread holds, comparable."""
    return [
        (found.config.get("configurable", {})["checkpoint_id"], found.checkpoint["channel_values"], found.metadata, found.pending_writes)
        for found in saver.list(config_of(thread))
    ]


def judge(factory: str, argument: str, rounds: int) -> dict[str, Any]:
    report: dict[str, Any] = {"rounds": 0, "void": 0, "void_because": [], "stale_writes_accepted": 0, "first_refused": 0, "second_completed": 0, "first_said": {}}
    with factory_named(factory)(argument, "judge") as saver:
        first, second = (WorkerProcess(name, factory, argument) for name in ("first", "second"))
        try:
            batch = 0
            while report["rounds"] < rounds and report["void"] <= rounds:
                threads = [f"takeover-{secrets.token_hex(6)}" for _ in range(min(AT_ONCE, rounds - report["rounds"]))]
                play(saver, first, second, threads, batch % 2 == 1, report)
                batch += 1
        finally:
            first.end()
            second.end()
    return report


def play(
    saver: BaseCheckpointSaver[Any], first: WorkerProcess, second: WorkerProcess, threads: list[str], wakes_during: bool, report: dict[str, Any]
) -> None:
    first.tell("begin", threads)
    entered = first.wait_for(threads, "entered", "failed")
    first.send(signal.SIGSTOP)
    # A worker that did not get as far as its node was not stopped inside it: such a round says nothing.
    counted = [thread for thread in threads if entered[thread][0] == "entered"]
    report["void"] += len(threads) - len(counted)
    report["void_because"] += [detail for event, detail in entered.values() if event == "failed"][:3]
    second.tell("take over", counted)
    if not wakes_during:
        second.tell("release")
    reached = second.wait_for(counted, *(("entered", "failed") if wakes_during else ("completed", "failed")))
    before = {thread: contents(saver, thread) for thread in counted}
    first.tell("release")
    first.send(signal.SIGCONT)
    ended = first.wait_for(counted, "completed", "failed")
    after = {thread: contents(saver, thread) for thread in counted}
    if wakes_during:
        second.tell("release")
        going = [thread for thread in counted if reached[thread][0] == "entered"]
        reached.update(second.wait_for(going, "completed", "failed"))
    report["rounds"] += len(counted)
    for thread in counted:
        report["stale_writes_accepted"] += before[thread] != after[thread]
        report["first_refused"] += ended[thread][0] == "failed"
        report["second_completed"] += reached[thread][0] == "completed" and is_of_second(saver, thread)
        said = " ".join(ended[thread]).replace(thread, "THREAD")
        report["first_said"][said] = report["first_said"].get(said, 0) + 1


def is_of_second(saver: BaseCheckpointSaver[Any], thread: str) -> bool:
    newest = saver.get_tuple(config_of(thread))
    return newest is not None and newest.checkpoint["channel_values"].get("by") == ["second", "second checked"]


if __name__ == "__main__":
    if sys.argv[1] == "--worker":
        name, factory, argument = sys.argv[2:]
        with factory_named(factory)(argument, name) as saver:
            Worker(saver, name).listen(sys.stdin)
        # Threads that are still inside a node must not keep the process.
        os._exit(0)
    else:
        print(json.dumps(judge(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
