"""Savers by name, for the programs that take a factory: Holdfast's and those that come with LangGraph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import holdfast
from holdfast.langgraph import HoldfastSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver


@contextmanager
def holdfast_saver(url: str, worker: str) -> Iterator[HoldfastSaver]:
    with holdfast.connect(url, namespace="graphs", agent=worker) as client:
        yield HoldfastSaver(client)


@contextmanager
def sqlite_saver(path: str, worker: str) -> Iterator[SqliteSaver]:
    with SqliteSaver.from_conn_string(path) as saver:
        saver.setup()
        yield saver


@contextmanager
def postgres_saver(url: str, worker: str) -> Iterator[PostgresSaver]:
    with PostgresSaver.from_conn_string(url) as saver:
        saver.setup()
        yield saver
