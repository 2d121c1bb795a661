"""Many small steps over a large value that does not change: `python static_state.py MODULE:FACTORY ARGUMENT STEPS`.

Prints how many steps the resumed thread has and the milliseconds that it took a new saver to read it."""

from __future__ import annotations

import importlib
import json
import operator
import secrets
import statistics
import sys
import time
from typing import Annotated, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    document: str
    steps: Annotated[int, operator.add]


def step(state: State) -> dict[str, int]:
    return {"steps": 1}


if __name__ == "__main__":
    module, function = sys.argv[1].split(":")
    factory = getattr(importlib.import_module(module), function)
    argument, steps = sys.argv[2], int(sys.argv[3])
    config: RunnableConfig = {"configurable": {"thread_id": "static"}, "recursion_limit": steps + 10}
    document = secrets.token_hex(524_288)
    with factory(argument, "writer") as saver:
        builder = StateGraph(State)
        builder.add_node("step", step)
        builder.add_edge(START, "step")
        builder.add_conditional_edges("step", lambda state: "step" if state["steps"] < steps else END)
        builder.compile(checkpointer=saver).invoke({"document": document, "steps": 0}, config)
    taken = []
    read = 0
    for _ in range(5):
        with factory(argument, "reader") as saver:
            begun = time.perf_counter()
            found = saver.get_tuple(config)
            taken.append((time.perf_counter() - begun) * 1000)
            assert found is not None and found.checkpoint["channel_values"]["document"] == document
            read = found.checkpoint["channel_values"]["steps"]
    print(json.dumps({"steps": read, "resumeMs": round(statistics.median(taken), 1)}))
