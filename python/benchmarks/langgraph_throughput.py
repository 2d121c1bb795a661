"""Steps per second of LangGraph's checkpointers at many threads, side by side on one PostgreSQL: Holdfast's, and the one that comes with LangGraph, both as its
documentation has it (one saver over a pool of connections) and with a saver and a connection for each thread.

    python langgraph_throughput.py HOLDFAST_URL POSTGRES_URL [--threads 64] [--steps 20] [--rounds 3]

A step stores a checkpoint with two changed channels of together about 2 KB and the writes of one task, each in a LangGraph thread of its own. The savers take
turns, and the order changes from round to round."""

from __future__ import annotations

import argparse
import json
import secrets
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import holdfast
from holdfast.langgraph import HoldfastSaver
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.postgres import PostgresSaver
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

SaverOf = Callable[[int], BaseCheckpointSaver[str]]


def steps(saver: BaseCheckpointSaver[str], count: int) -> None:
    config: RunnableConfig = {"configurable": {"thread_id": secrets.token_hex(8), "checkpoint_ns": ""}}
    versions: dict[str, Any] = {"messages": None, "step": None}
    for number in range(count):
        versions = {name: saver.get_next_version(version, None) for name, version in versions.items()}
        checkpoint: Checkpoint = {
            "v": 4,
            "id": str(uuid6()),
            "ts": "2026-01-01T00:00:00+00:00",
            "channel_values": {"messages": ["m" * 200] * 10, "step": number},
            "channel_versions": versions,
            "versions_seen": {"node": versions},
            "updated_channels": ["messages", "step"],
        }
        config = saver.put(config, checkpoint, {"source": "loop", "step": number, "parents": {}}, versions)
        saver.put_writes(config, [("messages", "m" * 200), ("step", number + 1)], secrets.token_hex(16))


def rate(saver_of: SaverOf, threads: int, count: int) -> float:
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda number: steps(saver_of(number), 1), range(threads)))
        begun = time.perf_counter()
        list(pool.map(lambda number: steps(saver_of(number), count), range(threads)))
        return threads * count / (time.perf_counter() - begun)


@contextmanager
def contenders(holdfast_url: str, postgres_url: str, threads: int) -> Iterator[dict[str, SaverOf]]:
    with ExitStack() as stack:
        client = stack.enter_context(holdfast.connect(holdfast_url, namespace="throughput", agent="benchmark"))
        ours = HoldfastSaver(client)
        single = [stack.enter_context(PostgresSaver.from_conn_string(postgres_url)) for _ in range(threads)]
        single[0].setup()
        options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
        pool = stack.enter_context(ConnectionPool(postgres_url, min_size=16, max_size=16, kwargs=options))
        pooled = PostgresSaver(pool)  # type: ignore[arg-type]
        yield {
            "Holdfast": lambda number: ours,
            "LangGraph's, one over a pool": lambda number: pooled,
            "LangGraph's, one per thread": lambda number: single[number],
        }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("holdfast_url")
    parser.add_argument("postgres_url")
    parser.add_argument("--threads", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    measured: dict[str, list[float]] = {}
    with contenders(given.holdfast_url, given.postgres_url, given.threads) as savers:
        for number in range(given.rounds):
            names = list(savers)
            for name in names[number % len(names) :] + names[: number % len(names)]:
                measured.setdefault(name, []).append(rate(savers[name], given.threads, given.steps))
    print(json.dumps({name: {"median": round(statistics.median(rates)), "rounds": [round(each) for each in rates]} for name, rates in measured.items()}))


if __name__ == "__main__":
    main()
