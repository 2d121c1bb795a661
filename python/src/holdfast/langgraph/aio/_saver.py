from __future__ import annotations

import builtins
import dataclasses
import random
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from ...aio import AsyncHoldfast
from ...errors import HoldfastError, invalid_input
from .._keys import checkpoint_key
from .._records import CheckpointRecord, Stored, TaskWrite, TaskWrites
from ._bridge import AsyncSaverBridge
from ._claim import AsyncThreadClaim
from ._threads import AsyncThreads

_RECENT_MAX = 256
_RECENT_BYTES_MAX = 131_072


class AsyncHoldfastSaver(AsyncSaverBridge):
    """Keeps the checkpoints of LangGraph's threads in a Holdfast store.

    `ttl`: how many seconds a checkpoint is kept; for ever when left out. `claim` makes this saver the only writer of a thread."""

    def __init__(self, client: AsyncHoldfast, *, serde: SerializerProtocol | None = None, ttl: float | None = None) -> None:
        super().__init__(serde=serde)
        self._threads = AsyncThreads(client, ttl)
        # Of the checkpoints stored last, what the next ones share with them.
        self._recent: OrderedDict[str, tuple[ChannelVersions, Mapping[str, Stored]]] = OrderedDict()

    def claim(self, thread_id: str, *, ttl: float = 30.0, wait: float | None = None) -> AsyncThreadClaim:
        """For a with block in which this saver alone may store anything in the thread.

        `ttl`: how soon another worker may take over from this one once it is dead or stopped. `wait`: how long to wait for a worker that is alive; without
        it, `claim_held` is raised at once."""
        return AsyncThreadClaim(self._threads.client, self._threads.claims, thread_id, ttl, wait)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        thread, ns = _place(config)
        found = await self._threads.get(thread, ns, get_checkpoint_id(config))
        return None if found is None else await self._tuple(*found)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Newest first. Without a config: of all threads, one after the other."""
        given: dict[str, Any] = {} if config is None else config.get("configurable", {})
        thread, ns, only = given.get("thread_id"), given.get("checkpoint_ns"), given.get("checkpoint_id")
        until = None if before is None else get_checkpoint_id(before)
        left = limit
        if left is not None and left <= 0:
            return
        page = 100 if left is None or filter else min(2 * left, 100)
        async for record, tasks in self._threads.list(None if thread is None else str(thread), ns, only, until, page):
            metadata = self.serde.loads_typed(record.metadata)
            if filter and any(metadata.get(name) != value for name, value in filter.items()):
                continue
            yield await self._tuple(record, tasks)
            if left is not None:
                left -= 1
                if left == 0:
                    return

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: ChannelVersions
    ) -> RunnableConfig:
        thread, ns = _place(config)
        parent = get_checkpoint_id(config)
        kept = get_serializable_checkpoint_metadata(config, metadata)
        run = kept.get("run_id")
        unchanged = await self._unchanged(thread, ns, parent, checkpoint, new_versions)
        record = CheckpointRecord(
            thread=thread,
            ns=ns,
            id=checkpoint["id"],
            parent=parent,
            run=run if isinstance(run, str) else None,
            checkpoint=self.serde.dumps_typed({name: value for name, value in checkpoint.items() if name != "channel_values"}),
            metadata=self.serde.dumps_typed(kept),
            channels=await self._channels(checkpoint, unchanged),
        )
        try:
            await self._threads.put(record)
        except HoldfastError as error:
            if "missing" not in error.details:
                raise
            # The checkpoint that this one shares values with was deleted meanwhile, and they with it.
            record = dataclasses.replace(record, channels=await self._channels(checkpoint, {}))
            await self._threads.put(record)
        self._remember(checkpoint_key(thread, ns, checkpoint["id"]), checkpoint["channel_versions"], record.channels)
        return _config(thread, ns, checkpoint["id"])

    async def aput_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        thread, ns = _place(config)
        checkpoint_id = get_checkpoint_id(config)
        if checkpoint_id is None:
            raise invalid_input("checkpoint_id", "the config of put_writes must name the checkpoint")
        values = await self._threads.contents.store({index: self.serde.dumps_typed(value) for index, (_, value) in enumerate(writes)})
        given = [TaskWrite(WRITES_IDX_MAP.get(channel, index), channel, values[index]) for index, (channel, _) in enumerate(writes)]
        await self._threads.put_writes(thread, ns, checkpoint_id, TaskWrites(task_id, task_path, given))

    async def adelete_thread(self, thread_id: str) -> None:
        await self._threads.delete_thread(str(thread_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        for run_id in run_ids:
            await self._threads.delete_run(str(run_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await self._threads.copy(str(source_thread_id), str(target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """A checkpoint from which the newest one builds the value of a delta channel is kept too."""
        if strategy not in ("keep_latest", "delete"):
            raise invalid_input("strategy", "must be keep_latest or delete")
        for thread_id in thread_ids:
            if strategy == "delete":
                await self._threads.delete_thread(str(thread_id))
            else:
                await self._threads.keep_latest(str(thread_id), self._built_from_ancestors)

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Grows, and differs between two branches that come from one checkpoint."""
        number = 0 if current is None else int(str(current).split(".")[0])
        return f"{number + 1:032}.{random.randrange(10**16):016}"

    def _built_from_ancestors(self, record: CheckpointRecord) -> builtins.list[str]:
        delta = self.serde.loads_typed(record.metadata).get("counters_since_delta_snapshot") or {}
        return [name for name in delta if name not in record.channels]

    async def _unchanged(
        self, thread: str, ns: str, parent: str | None, checkpoint: Checkpoint, new_versions: ChannelVersions
    ) -> dict[str, Stored]:
        """What the parent stored for the channels that did not change."""
        versions = checkpoint["channel_versions"]
        unchanged = [name for name in versions if name not in new_versions]
        if parent is None or not unchanged:
            return {}
        known = self._recent.get(checkpoint_key(thread, ns, parent))
        before, channels = await self._read_channels(thread, ns, parent) if known is None else known
        return {name: channels[name] for name in unchanged if name in channels and before.get(name) == versions[name]}

    async def _channels(self, checkpoint: Checkpoint, unchanged: dict[str, Stored]) -> dict[str, Stored]:
        """Those that did not change are not serialized again."""
        values = checkpoint["channel_values"]
        changed = [name for name in checkpoint["channel_versions"] if name in values and name not in unchanged]
        return {**unchanged, **await self._threads.contents.store({name: self.serde.dumps_typed(values[name]) for name in changed})}

    async def _read_channels(self, thread: str, ns: str, checkpoint_id: str) -> tuple[ChannelVersions, Mapping[str, Stored]]:
        found = await self._threads.get(thread, ns, checkpoint_id)
        if found is None:
            return {}, {}
        record, _ = found
        return self.serde.loads_typed(record.checkpoint)["channel_versions"], record.channels

    def _remember(self, key: str, versions: ChannelVersions, channels: Mapping[str, Stored]) -> None:
        if sum(len(value.data or b"") for value in channels.values()) > _RECENT_BYTES_MAX:
            return
        self._recent[key] = (dict(versions), channels)
        while len(self._recent) > _RECENT_MAX:
            self._recent.popitem(last=False)

    async def _tuple(self, record: CheckpointRecord, tasks: Sequence[TaskWrites]) -> CheckpointTuple:
        place = (record.thread, record.ns, record.id)
        checkpoint: Checkpoint = self.serde.loads_typed(record.checkpoint)
        self._remember(checkpoint_key(*place), checkpoint["channel_versions"], record.channels)
        checkpoint["channel_values"] = {name: await self._load(value) for name, value in record.channels.items()}
        return CheckpointTuple(
            config=_config(*place),
            checkpoint=checkpoint,
            metadata=self.serde.loads_typed(record.metadata),
            parent_config=None if record.parent is None else _config(record.thread, record.ns, record.parent),
            pending_writes=[(each.task, write.channel, await self._load(write.value)) for each in tasks for write in each.writes],
        )

    async def _load(self, value: Stored) -> Any:
        return self.serde.loads_typed(await self._threads.contents.load(value))


def _place(config: RunnableConfig) -> tuple[str, str]:
    given = config.get("configurable", {})
    if given.get("thread_id") is None:
        raise invalid_input("thread_id", 'must be in the config: {"configurable": {"thread_id": …}}')
    return str(given["thread_id"]), given.get("checkpoint_ns") or ""


def _config(thread: str, ns: str, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}}
