import { createHash } from "node:crypto";
import { invalidInput } from "../../kernel/errors.ts";

/** A key holds several parts and may have 512 bytes, so that a longer part is replaced by its digest. The records hold the names themselves. */
const partMax = 96;
const idBytesMax = 64;
const root = "langgraph-js/";

/** A name as one part of a key, without a slash. A literal part never begins with `~`, as digests do. */
export function keyPart(name: string, field: string): string {
  if (typeof name !== "string" || !name.isWellFormed()) throw invalidInput(field, "must be a well-formed string");
  const quoted = encodeURIComponent(name).replaceAll("~", "%7E");
  return quoted.length <= partMax ? quoted : `~${createHash("sha256").update(name).digest("hex")}`;
}

/**
 * The complement of the id's bytes: in ascending order of keys, the newest checkpoint comes first, and reading the latest one is reading one entry.
 * `~` sorts after all digits, so that an id comes before its own beginnings.
 */
function newestFirst(checkpointId: string): string {
  const bytes = Buffer.from(checkpointId);
  if (bytes.length === 0 || bytes.length > idBytesMax) throw invalidInput("checkpoint_id", `must have 1 to ${idBytesMax} bytes`);
  return `${Buffer.from(bytes.map((byte) => 255 - byte)).toString("hex")}~`;
}

const within = (thread: string | undefined, ns: string | undefined): string =>
  (thread === undefined ? "" : `${keyPart(thread, "thread_id")}/`) + (ns === undefined ? "" : `${keyPart(ns, "checkpoint_ns")}/`);

/** Where the parts of a thread are in the store, all of them as state entries. */
export const threadKeys = {
  /** The checkpoints of a thread and namespace, of a thread, or all. */
  checkpoints: (thread?: string, ns?: string): string => `${root}checkpoint/${within(thread, ns)}`,
  checkpoint: (thread: string, ns: string, id: string): string => threadKeys.checkpoints(thread, ns) + newestFirst(id),
  value: (thread: string, ns: string, channel: string, version: string | number): string =>
    `${root}value/${within(thread, ns)}${keyPart(channel, "channel")}/${keyPart(String(version), "version")}`,
  writes: (thread: string, ns: string, id: string): string => `${root}write/${within(thread, ns)}${newestFirst(id)}/`,
  write: (thread: string, ns: string, id: string, task: string, index: number): string => `${threadKeys.writes(thread, ns, id)}${keyPart(task, "taskId")}/${index}`,
  /** Checkpoints come first: a thread that is partly deleted has none that lacks its values. */
  ofThread: (thread: string): readonly string[] => ["checkpoint", "write", "value"].map((kind) => `${root}${kind}/${within(thread, undefined)}`),
  /** Present from when a worker claims the thread until it releases it: writers without a claim check that it is absent. */
  claimed: (thread: string): string => `${root}claimed/${keyPart(thread, "thread_id")}`,
  /** The lease of the thread's owner. */
  resource: (thread: string): string => `${root}thread/${keyPart(thread, "thread_id")}`,
};

/** Items of a namespace and of those below it. Labels are parts, and the item's key is the last one. */
export const itemKeys = {
  under: (namespace: readonly string[]): string => `${root}item/${namespace.map((label) => `${keyPart(label, "namespace")}/`).join("")}`,
  item: (namespace: readonly string[], key: string): string => itemKeys.under(namespace) + keyPart(key, "key"),
  /** The namespace in an item's key; undefined if a part of it is a digest. */
  namespaceOf: (itemKey: string): readonly string[] | undefined => {
    const parts = itemKey.slice(`${root}item/`.length).split("/").slice(0, -1);
    return parts.some((part) => part.startsWith("~")) ? undefined : parts.map(decodeURIComponent);
  },
};
