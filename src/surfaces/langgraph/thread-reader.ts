import type { Checkpoint, CheckpointMetadata, CheckpointPendingWrite, CheckpointTuple, SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { maxChannelVersion, TASKS } from "@langchain/langgraph-checkpoint";
import type { StateEntry } from "../../domain/state/state-entry.ts";
import type { Holdfast } from "../library/holdfast.ts";
import { inParallel } from "./in-parallel.ts";
import { unpackValue } from "./packed-value.ts";
import type { CheckpointRecord, WriteRecord } from "./stored-thread.ts";
import { compareWrites, toChannelValue, toCheckpointRecord, toWriteRecord } from "./stored-thread.ts";
import { threadKeys } from "./thread-keys.ts";

/** The names by which a graph finds a checkpoint. */
export interface CheckpointPlace {
  readonly thread: string;
  readonly ns: string;
  readonly id: string;
}

const pageMax = 100;

/** The first checkpoint format in which a checkpoint holds its pending sends itself. */
const ownSendsFormat = 4;

/** Reads checkpoints, the values of their channels and the writes that are pending. */
export class ThreadReader {
  readonly #holdfast: Holdfast;
  readonly #serde: SerializerProtocol;

  constructor(holdfast: Holdfast, serde: SerializerProtocol) {
    this.#holdfast = holdfast;
    this.#serde = serde;
  }

  async checkpoint({ thread, ns, id }: CheckpointPlace): Promise<CheckpointRecord | undefined> {
    const entry = await this.#holdfast.state.get(threadKeys.checkpoint(thread, ns, id));
    return entry && toCheckpointRecord(entry);
  }

  async latest(thread: string, ns: string): Promise<CheckpointRecord | undefined> {
    const { entries } = await this.#holdfast.state.list({ prefix: threadKeys.checkpoints(thread, ns), limit: 1 });
    return entries[0] && toCheckpointRecord(entries[0]);
  }

  /** Newest first within each thread and namespace. `before`: only the checkpoints before this one of a given thread and namespace. */
  async *checkpoints(thread?: string, ns?: string, before?: string): AsyncGenerator<CheckpointRecord> {
    const isOnePlace = thread !== undefined && ns !== undefined;
    const after = isOnePlace && before !== undefined ? threadKeys.checkpoint(thread, ns, before) : undefined;
    for await (const entry of this.#entries(threadKeys.checkpoints(thread, thread === undefined ? undefined : ns), after)) {
      const record = toCheckpointRecord(entry);
      if ((ns === undefined || record.ns === ns) && (before === undefined || record.id < before)) yield record;
    }
  }

  async metadata({ metadata }: CheckpointRecord): Promise<CheckpointMetadata> {
    return (await unpackValue(this.#holdfast, this.#serde, metadata)) as CheckpointMetadata;
  }

  async tuple(record: CheckpointRecord): Promise<CheckpointTuple> {
    const { thread, ns, id, parent } = record;
    const [checkpoint, metadata, pendingWrites] = await Promise.all([this.#restore(record), this.metadata(record), this.pendingWrites(record)]);
    return {
      config: configOf({ thread, ns, id }),
      checkpoint,
      metadata,
      pendingWrites,
      ...(parent === undefined ? {} : { parentConfig: configOf({ thread, ns, id: parent }) }),
    };
  }

  /** In the order in which the graph applies them. With `channels`, only the writes to these are decoded. */
  async pendingWrites({ thread, ns, id }: CheckpointPlace, channels?: ReadonlySet<string>): Promise<CheckpointPendingWrite[]> {
    const records: WriteRecord[] = [];
    for await (const entry of this.#entries(threadKeys.writes(thread, ns, id))) records.push(toWriteRecord(entry));
    const wanted = records.filter(({ channel }) => channels?.has(channel) ?? true).sort(compareWrites);
    return inParallel(wanted, async ({ task, channel, value }): Promise<CheckpointPendingWrite> => [task, channel, await unpackValue(this.#holdfast, this.#serde, value)]);
  }

  /** The checkpoint as it is stored, without the values of its channels. */
  async bare({ checkpoint }: CheckpointRecord): Promise<Omit<Checkpoint, "channel_values">> {
    return (await unpackValue(this.#holdfast, this.#serde, checkpoint)) as Omit<Checkpoint, "channel_values">;
  }

  /** The values of these channels that are stored. */
  async values({ thread, ns }: CheckpointRecord, versions: readonly (readonly [channel: string, version: string | number])[]): Promise<Record<string, unknown>> {
    const found = await inParallel(versions, async ([channel, version]) => {
      const entry = await this.#holdfast.state.get(threadKeys.value(thread, ns, channel, version));
      return entry === undefined ? [] : [[channel, await unpackValue(this.#holdfast, this.#serde, toChannelValue(entry))] as const];
    });
    return Object.fromEntries(found.flat());
  }

  async #restore(record: CheckpointRecord): Promise<Checkpoint> {
    const bare = await this.bare(record);
    const checkpoint: Checkpoint = { ...bare, channel_values: await this.values(record, Object.entries(bare.channel_versions ?? {})) };
    if (checkpoint.v >= ownSendsFormat || record.parent === undefined) return checkpoint;
    // Before, the sends of a step were stored as writes of the checkpoint before it.
    const sends = await this.pendingWrites({ ...record, id: record.parent }, new Set([TASKS]));
    const versions = Object.values(checkpoint.channel_versions ?? {});
    checkpoint.channel_values[TASKS] = sends.map(([, , value]) => value);
    checkpoint.channel_versions = { ...checkpoint.channel_versions, [TASKS]: versions.length > 0 ? maxChannelVersion(...versions) : 1 };
    return checkpoint;
  }

  async *#entries(prefix: string, after?: string): AsyncGenerator<StateEntry> {
    for (let last = after; ; ) {
      const { entries, more } = await this.#holdfast.state.list({ prefix, limit: pageMax, after: last });
      yield* entries;
      last = entries.at(-1)?.key;
      if (!more || last === undefined) return;
    }
  }
}

export const configOf = ({ thread, ns, id }: CheckpointPlace) => ({ configurable: { thread_id: thread, checkpoint_ns: ns, checkpoint_id: id } });
