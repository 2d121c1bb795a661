"""Workers that share the threads of a LangGraph graph. One that dies, or is stopped, is replaced by the next one that claims its thread; should it wake up
later, nothing that it still does is stored.

    holdfast serve &
    python langgraph_takeover.py http://127.0.0.1:8000 ann trip-7
    python langgraph_takeover.py http://127.0.0.1:8000 ben trip-7     # in another terminal: waits for ann, or takes over from her
"""

from __future__ import annotations

import argparse
import operator
import sys
from typing import Annotated, TypedDict

import holdfast
from holdfast.langgraph import HoldfastSaver
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph


class Trip(TypedDict):
    done: Annotated[list[str], operator.add]


def build(worker: str, hang_in: str | None) -> StateGraph[Trip]:
    builder = StateGraph(Trip)
    steps = ("plan", "book", "pay", "confirm")

    def add(step: str) -> None:
        def work(state: Trip) -> Trip:
            print(f"{worker} {step}", flush=True)
            if step == hang_in:
                sys.stdin.read()
            return {"done": [f"{step} by {worker}"]}

        builder.add_node(step, work)

    for step in steps:
        add(step)
    for start, end in zip((START, *steps), (*steps, END), strict=True):
        builder.add_edge(start, end)
    return builder


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("worker")
    parser.add_argument("thread")
    parser.add_argument("--hang-in", help="a step in which this worker waits for the end of its input")
    parser.add_argument("--ttl", type=float, default=5.0, help="how many seconds after a worker died another one takes over")
    given = parser.parse_args()

    with holdfast.connect(given.url, agent=given.worker) as client:
        saver = HoldfastSaver(client)
        graph = build(given.worker, given.hang_in).compile(checkpointer=saver)
        config: RunnableConfig = {"configurable": {"thread_id": given.thread}}
        with saver.claim(given.thread, ttl=given.ttl, wait=600):
            begun = saver.get(config) is not None
            # durability="sync": the next step begins only once the last one is stored, so a worker that was replaced stops there.
            trip = graph.invoke(None if begun else {"done": []}, config, durability="sync")
        print(f"{given.worker} finished: {', '.join(trip['done'])}", flush=True)
