"""The other half of LangGraph's interface. `sync/_bridge.py` has the same names; everything else is written once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.store.base import BaseStore, Op, Result

_T = TypeVar("_T")


class Loop:
    """The event loop that an object was made in, for callers in other threads."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def run(self, work: Coroutine[Any, Any, _T], name: str) -> _T:
        try:
            running: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if running is self._loop:
            work.close()
            raise RuntimeError(f"{name}() would block the event loop that it waits for; await a{name}() instead.")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class AsyncSaverBridge(BaseCheckpointSaver[str]):
    """Calls without `await`, from threads other than the event loop's."""

    def __init__(self, *, serde: SerializerProtocol | None) -> None:
        super().__init__(serde=serde)
        self._loop = Loop()

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self._loop.run(self.aget_tuple(config), "get_tuple")

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        found = self.alist(config, filter=filter, before=before, limit=limit)
        while (each := self._loop.run(_next(found), "list")) is not None:
            yield each

    def put(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions) -> RunnableConfig:
        return self._loop.run(self.aput(config, checkpoint, metadata, new_versions), "put")

    def put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        self._loop.run(self.aput_writes(config, writes, task_id, task_path), "put_writes")

    def delete_thread(self, thread_id: str) -> None:
        self._loop.run(self.adelete_thread(thread_id), "delete_thread")

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        self._loop.run(self.adelete_for_runs(run_ids), "delete_for_runs")

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self._loop.run(self.acopy_thread(source_thread_id, target_thread_id), "copy_thread")

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        self._loop.run(self.aprune(thread_ids, strategy=strategy), "prune")


async def _next(found: AsyncIterator[CheckpointTuple]) -> CheckpointTuple | None:
    return await anext(found, None)


class AsyncStoreBridge(BaseStore):
    """Calls without `await`, from threads other than the event loop's."""

    def __init__(self) -> None:
        self._loop = Loop()

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self._loop.run(self.abatch(ops), "batch")
