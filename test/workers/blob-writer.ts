import { setState } from "../../src/domain/state/state.ts";
import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { Store } from "../../src/store/store.ts";
import { bindBlobs } from "../../src/surfaces/library/bind-blobs.ts";
import { blobPieces } from "../support/blob-pieces.ts";
import { openWorkerPort } from "../support/worker-port.ts";

/**
 * Streams a blob into a store, names it in an entry and reads it back. Dies at the given call of the store: when the answer is there, or as soon as it was sent.
 * `torn`: its store applies the writes of a commit one by one, as one that promises nothing would. `measured`: tells the most memory that was in use.
 */
const port = openWorkerPort();
const { url, namespace, bytes, seed, dieAt, when, torn, measured } = await port.next<{
  url: string;
  namespace: string;
  bytes: number;
  seed: number;
  dieAt?: number;
  when?: "sent" | "answered";
  torn?: boolean;
  measured?: boolean;
}>();

const calls: ("read" | "commit")[] = [];
const peak = { liveBytes: 0, rssBytes: 0 };

function look(): void {
  if (measured !== true) return;
  peak.rssBytes = Math.max(peak.rssBytes, process.memoryUsage.rss());
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  peak.liveBytes = Math.max(peak.liveBytes, heapUsed + external);
}

/** Nothing of this process runs after the kill: not a promise, not an exit handler. */
const die = (): void => void process.kill(process.pid, "SIGKILL");

async function counted<Answer>(kind: "read" | "commit", call: () => Promise<Answer>): Promise<Answer> {
  calls.push(kind);
  const isLast = calls.length === dieAt;
  const answer = call();
  if (isLast && when === "sent") {
    // The commit leaves this process a turn of the event loop after it was submitted.
    setImmediate(() => setImmediate(die));
  }
  const answered = await answer;
  if (isLast) die();
  look();
  return answered;
}

const engine = await openEngine(url);
const whole = openNamespaceStore(engine, namespace, systemClock);
const store: Store = {
  ...whole,
  read: (...args) => counted("read", () => whole.read(...args)),
  async commit(commit) {
    if (torn !== true) return counted("commit", () => whole.commit(commit));
    let result = await whole.commit({ ...commit, writes: [] });
    for (const write of commit.writes) result = await counted("commit", () => whole.commit({ writer: commit.writer, writes: [write] }));
    return result;
  },
};
const scope = { store, clock: systemClock, writer: "blob writer" };
const blobs = bindBlobs({ scope, claimTtlMs: 1, effectKeepMs: 1 });
look();
const before = { ...peak };
const { hash } = await blobs.put(blobPieces(seed, bytes));
port.send({ put: hash });
await setState(scope, { key: "owner", value: hash, blobs: [hash] });
port.send({ named: hash });
let read = 0;
for await (const chunk of blobs.read(hash)) read += chunk.length;
port.send({ done: read, calls, before, peak });
await engine[Symbol.asyncDispose]();
