import { openEngine } from "../src/engines/open-store.ts";
import { systemClock } from "../src/kernel/clock.ts";
import { silentLog } from "../src/kernel/log.ts";
import { engineFacts } from "../src/store/engine-facts.ts";
import { openNamespaceStore } from "../src/store/namespace-store.ts";
import { keyRange } from "../src/store/ranges.ts";
import type { CommitResult, IndexedText, Range } from "../src/store/store.ts";
import { catalog } from "../src/tools/catalog.ts";
import { runTool } from "../src/tools/run-tool.ts";
import type { Tool } from "../src/tools/tool.ts";
import { keyOf, keysInUse, noteOf } from "./workload.ts";

const pageSize = 100;
const inFlight = 64;
const everything: Range = { start: "" };
const stateKeys: Range = { start: "state/", end: "state0" };
const termsPerNote = 40;
const notesInUse = 200;

/** Operations per slice: a few milliseconds' worth, so that other users of the machine disturb single slices and not the median. */
const perSlice = { setCalls: 100, getCalls: 150, listCalls: 8, historyCalls: 8, noteCalls: 8, commits: 384, gets: 300, lists: 15, keys: 20, logPages: 10, notes: 10 } as const;
export type SumOperation = keyof typeof perSlice;

/** One SQLite store with its engine, bundled with and without the computing of checksums. */
export interface SumWorkload extends AsyncDisposable {
  /** One slice; processor time of one operation in microseconds. */
  cost(operation: SumOperation): Promise<number>;
}

export async function openSumWorkload(path: string): Promise<SumWorkload> {
  const engine = await openEngine(`sqlite:${path}`);
  const store = openNamespaceStore(engine, "bench", systemClock);
  let notes = 0;

  const put = async (n: number): Promise<void> => {
    const key = keyOf(n);
    requireDone(await store.commit({ writes: [{ op: "put", key: `state/${key}`, value: noteOf(n), record: { kind: "state", op: "set", subject: key } }], writer: "bench" }));
  };
  const note = async (): Promise<void> => {
    const n = notes++;
    const key = `note-${n % notesInUse}`;
    requireDone(await store.commit({ writes: [{ op: "put", key, value: noteOf(n), index: indexOf(n), record: { kind: "note", op: "write", subject: key } }], writer: "bench" }));
  };
  const page = async (range: Range, values: boolean): Promise<void> => requireCount((await store.read(range, { limit: pageSize, values })).entries, pageSize);

  const base = { store, clock: systemClock, writer: "bench", server: { version: "bench", startedAtMs: 0, claimTtlMs: 900_000, ...engineFacts(engine) } };
  /** As from a surface: checked, executed, and serialized as JSON. */
  const call = async (name: string, args: Readonly<Record<string, unknown>>): Promise<void> => {
    const outcome = await runTool(catalog.find((tool) => tool.name === name) as Tool, args, base, {}, silentLog);
    if (!outcome.ok) throw new Error(outcome.error.message);
    if (JSON.stringify(outcome.structured).length === 0) throw new Error("The call returned no answer.");
  };
  let saved = 0;
  const slices: Readonly<Record<SumOperation, (count: number) => Promise<void>>> = {
    setCalls: (count) => times(count, (n) => call("state_set", { key: `called/${keyOf(n)}`, value: noteOf(n) })),
    getCalls: (count) => times(count, (n) => call("state_get", { key: `called/${keyOf(n % 100)}` })),
    listCalls: (count) => times(count, () => call("state_list", { prefix: "called/", values: true, limit: pageSize })),
    historyCalls: (count) => times(count, () => call("history_log", { n: pageSize })),
    noteCalls: (count) =>
      times(count, () =>
        call("save_knowledge", {
          id: `called-${saved++ % notesInUse}`,
          content: indexOf(saved)
            .terms.map(([term]) => term)
            .join(" "),
          source: "bench",
        }),
      ),
    async commits(count) {
      let n = 0;
      const caller = async (): Promise<void> => {
        while (n < count) await put(n++);
      };
      await Promise.all(Array.from({ length: inFlight }, caller));
    },
    gets: (count) => times(count, async (n) => requireCount((await store.read(keyRange(`state/${keyOf(n)}`))).entries, 1)),
    lists: (count) => times(count, () => page(stateKeys, true)),
    keys: (count) => times(count, () => page(stateKeys, false)),
    logPages: (count) => times(count, async () => requireCount((await store.log({ ranges: [everything], after: pageSize, limit: pageSize })).rows, pageSize)),
    notes: (count) => times(count, note),
  };
  await Promise.all(Array.from({ length: keysInUse }, (_, n) => put(n)));
  await times(notesInUse, note);
  await times(pageSize, (n) => call("state_set", { key: `called/${keyOf(n)}`, value: noteOf(n) }));
  return {
    async cost(operation) {
      const before = process.cpuUsage();
      await slices[operation](perSlice[operation]);
      const { user, system } = process.cpuUsage(before);
      return (user + system) / perSlice[operation];
    },
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
}

async function times(count: number, operation: (n: number) => Promise<void>): Promise<void> {
  for (let n = 0; n < count; n += 1) await operation(n);
}

/** Steps of three through 400 words: each note has different terms, and each term has many notes. */
const indexOf = (n: number): IndexedText => ({
  area: "notes",
  length: 60,
  terms: Array.from({ length: termsPerNote }, (_, i) => [`word${(n * 13 + i * 3) % 400}`, 100]),
});

function requireDone(result: CommitResult): void {
  if (!result.ok) throw new Error(`A commit without checks was refused: ${result.reason}`);
}

function requireCount(found: readonly unknown[], wanted: number): void {
  if (found.length !== wanted) throw new Error(`Expected ${wanted} rows, found ${found.length}.`);
}
