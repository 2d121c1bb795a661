import { isDeepStrictEqual } from "node:util";
import type { RunnableConfig } from "@langchain/core/runnables";
import type {
  ChannelVersions,
  Checkpoint,
  CheckpointListOptions,
  CheckpointMetadata,
  CheckpointPendingWrite,
  CheckpointTuple,
  DeltaChannelHistory,
  PendingWrite,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import { BaseCheckpointSaver, getCheckpointId, WRITES_IDX_MAP } from "@langchain/langgraph-checkpoint";
import { toStored } from "../../domain/stored-record.ts";
import { invalidInput } from "../../kernel/errors.ts";
import type { Holdfast } from "../library/holdfast.ts";
import type { WithLeaseResult } from "../library/with-lease.ts";
import { commitGroups } from "./commit-groups.ts";
import { inParallel } from "./in-parallel.ts";
import { blobsOf, packValue } from "./packed-value.ts";
import type { CheckpointRecord, WriteRecord } from "./stored-thread.ts";
import type { ClaimThreadOptions, ThreadWrite } from "./thread-claims.ts";
import { ThreadClaims } from "./thread-claims.ts";
import { threadKeys } from "./thread-keys.ts";
import { configOf, ThreadReader } from "./thread-reader.ts";

export interface HoldfastSaverOptions {
  /** Replaces LangGraph's serializer. */
  readonly serde?: SerializerProtocol;
  /** The name of this worker in history and, with a random suffix, as the holder of threads. */
  readonly agent?: string;
}

const deletePage = 100;

/**
 * A LangGraph checkpointer on a Holdfast store, opened by this process (`openHoldfast`) or by a server (`connectHoldfast`). A channel's value is stored once
 * for each version, so that a thread grows with what changes. `claimThread` makes one worker the owner of a thread; the store refuses the writes of others.
 */
export class HoldfastSaver extends BaseCheckpointSaver {
  readonly #holdfast: Holdfast;
  readonly #claims: ThreadClaims;
  readonly #reader: ThreadReader;

  constructor(holdfast: Holdfast, { serde, agent = "langgraph" }: HoldfastSaverOptions = {}) {
    super(serde);
    this.#holdfast = holdfast;
    this.#claims = new ThreadClaims(holdfast, agent);
    this.#reader = new ThreadReader(holdfast, this.serde);
  }

  /**
   * Runs work as the owner of a thread, usually one call of a graph. The claim is renewed meanwhile and released at the end. If it is lost, the signal aborts,
   * what the work still writes is refused in the same commit, and the call rejects with `lease_lost`. Not `ok`: another worker has the thread.
   */
  claimThread<Value>(threadId: string, options: ClaimThreadOptions, work: (signal: AbortSignal) => Promise<Value> | Value): Promise<WithLeaseResult<Value>> {
    return this.#claims.run(requireName(threadId, "threadId"), options, work);
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const record = await this.#find(config);
    return record && this.#reader.tuple(record);
  }

  async *list(config: RunnableConfig, { limit = Number.POSITIVE_INFINITY, before, filter = {} }: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { thread_id: thread, checkpoint_ns: ns, checkpoint_id: id } = config.configurable ?? {};
    const wanted = Object.entries(filter);
    let left = limit;
    if (left <= 0) return;
    for await (const record of this.#reader.checkpoints(thread, ns, before?.configurable?.checkpoint_id)) {
      if (id !== undefined && record.id !== id) continue;
      if (wanted.length > 0) {
        const metadata: Record<string, unknown> = await this.#reader.metadata(record);
        if (!wanted.every(([name, value]) => isDeepStrictEqual(metadata[name], value))) continue;
      }
      yield await this.#reader.tuple(record);
      left -= 1;
      if (left <= 0) return;
    }
  }

  async put(config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, newVersions: ChannelVersions): Promise<RunnableConfig> {
    const thread = requireName(config.configurable?.thread_id, "thread_id");
    const ns: string = config.configurable?.checkpoint_ns ?? "";
    const { channel_values: values, ...bare } = checkpoint;
    const changed = Object.entries(newVersions).filter(([channel]) => Object.hasOwn(values, channel));
    const [ownCheckpoint, ownMetadata] = await Promise.all([packValue(this.#holdfast, this.serde, bare), packValue(this.#holdfast, this.serde, metadata)]);
    const writes = await inParallel(changed, async ([channel, version]): Promise<ThreadWrite> => {
      const value = await packValue(this.#holdfast, this.serde, values[channel]);
      return { op: "set", key: threadKeys.value(thread, ns, channel, version), value: toStored(value), blobs: blobsOf(value) };
    });
    const record: CheckpointRecord = { thread, ns, id: checkpoint.id, parent: getCheckpointId(config) || undefined, checkpoint: ownCheckpoint, metadata: ownMetadata };
    // Last, and so in the last commit: a checkpoint is never found before all its values are stored.
    writes.push({ op: "set", key: threadKeys.checkpoint(thread, ns, checkpoint.id), value: toStored(record), blobs: blobsOf(ownCheckpoint, ownMetadata) });
    for (const group of commitGroups(writes)) await this.#claims.commit(thread, group);
    return configOf({ thread, ns, id: checkpoint.id });
  }

  /** `taskPath`: the place of the task in the graph, which later versions of LangGraph pass; it orders the writes of parallel tasks. */
  async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string, taskPath = ""): Promise<void> {
    const thread = requireName(config.configurable?.thread_id, "thread_id");
    const id = requireName(config.configurable?.checkpoint_id, "checkpoint_id");
    const ns: string = config.configurable?.checkpoint_ns ?? "";
    const stored = await inParallel([...writes.entries()], async ([i, [channel, value]]): Promise<ThreadWrite> => {
      const index = WRITES_IDX_MAP[channel] ?? i;
      const record: WriteRecord = { task: taskId, path: taskPath, index, channel, value: await packValue(this.#holdfast, this.serde, value) };
      // A task that runs again does not replace its writes; errors and interrupts, which have negative numbers, are replaced.
      return { op: "set", key: threadKeys.write(thread, ns, id, taskId, index), value: toStored(record), blobs: blobsOf(record.value), once: index >= 0 };
    });
    for (const group of commitGroups(distinctKeys(stored))) await this.#claims.commit(thread, group);
  }

  async deleteThread(threadId: string): Promise<void> {
    const thread = requireName(threadId, "threadId");
    for (const prefix of threadKeys.ofThread(thread)) {
      for (;;) {
        const { entries } = await this.#holdfast.state.list({ prefix, limit: deletePage, values: false });
        if (entries.length === 0) break;
        await this.#claims.commit(
          thread,
          entries.map(({ key }) => ({ op: "delete", key })),
        );
      }
    }
  }

  /** As the base class does it, but without reading the values of other channels. */
  override async getDeltaChannelHistory({ config, channels }: { config: RunnableConfig; channels: string[] }): Promise<Record<string, DeltaChannelHistory>> {
    const histories = new Map<string, { seed?: unknown; steps: CheckpointPendingWrite[][] }>(channels.map((channel) => [channel, { steps: [] }]));
    const open = new Set(channels);
    let child = open.size === 0 ? undefined : await this.#find(config);
    while (child?.parent !== undefined && open.size > 0) {
      const record: CheckpointRecord | undefined = await this.#reader.checkpoint({ ...child, id: child.parent });
      if (record === undefined) break;
      const pending = await this.#reader.pendingWrites(record, open);
      const { channel_versions: versions } = await this.#reader.bare(record);
      const seeds = await this.#reader.values(
        record,
        Object.entries(versions ?? {}).filter(([channel]) => open.has(channel)),
      );
      for (const channel of [...open]) {
        const history = histories.get(channel);
        history?.steps.push(pending.filter(([, to]) => to === channel));
        if (!Object.hasOwn(seeds, channel)) continue;
        if (history !== undefined) history.seed = seeds[channel];
        open.delete(channel);
      }
      child = record;
    }
    return Object.fromEntries([...histories].map(([channel, { steps, ...seed }]) => [channel, { ...seed, writes: steps.reverse().flat() }]));
  }

  /** The next whole number with a random fraction: two branches of a thread that change the same channel never have the same version. */
  override getNextVersion(current: number | undefined): number {
    const [random = 0] = crypto.getRandomValues(new Uint32Array(1));
    return Math.floor(super.getNextVersion(current)) + random / 2 ** 32;
  }

  async #find(config: RunnableConfig): Promise<CheckpointRecord | undefined> {
    const thread: string | undefined = config.configurable?.thread_id;
    if (thread === undefined) return undefined;
    const ns: string = config.configurable?.checkpoint_ns ?? "";
    const id = getCheckpointId(config);
    return id === "" ? this.#reader.latest(thread, ns) : this.#reader.checkpoint({ thread, ns, id });
  }
}

/** Two writes to a channel with a fixed number, such as two interrupts of one task: the later one is kept. */
const distinctKeys = (writes: readonly ThreadWrite[]): ThreadWrite[] => [...new Map(writes.map((write) => [write.key, write])).values()];

function requireName(name: unknown, field: string): string {
  if (typeof name === "string" && name !== "") return name;
  throw invalidInput(field, 'must be a non-empty string; pass it in configurable, for example graph.invoke(input, { configurable: { thread_id: "t1" } })');
}
