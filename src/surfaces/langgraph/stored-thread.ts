import type { Form } from "../../domain/stored-record.ts";
import { number, object, optional, storedAs, string } from "../../domain/stored-record.ts";
import type { PackedValue } from "./packed-value.ts";
import { packedForm } from "./packed-value.ts";

/** A checkpoint without its channel values, which are stored once for each version of their channel. */
export interface CheckpointRecord {
  readonly thread: string;
  readonly ns: string;
  readonly id: string;
  readonly parent?: string;
  readonly checkpoint: PackedValue;
  readonly metadata: PackedValue;
}

/** A write of a task that is not part of a checkpoint yet. */
export interface WriteRecord {
  readonly task: string;
  /** The task's path in the graph, which orders the writes of parallel tasks; empty if the caller passed none. */
  readonly path: string;
  readonly index: number;
  readonly channel: string;
  readonly value: PackedValue;
}

const checkpointForm: Form<CheckpointRecord> = object<CheckpointRecord>({
  thread: string,
  ns: string,
  id: string,
  parent: optional(string),
  checkpoint: packedForm,
  metadata: packedForm,
});

export const toCheckpointRecord = storedAs(checkpointForm);
export const toWriteRecord = storedAs(object<WriteRecord>({ task: string, path: string, index: number, channel: string, value: packedForm }));
export const toChannelValue = storedAs(packedForm);

/** Task path, task, index: the order in which a graph applies the writes of one step. Strings are compared by code points. */
export const compareWrites = (a: WriteRecord, b: WriteRecord): number => compareText(a.path, b.path) || compareText(a.task, b.task) || a.index - b.index;

const compareText = (a: string, b: string): number => (a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b)));
