import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeCommitNote } from "../../src/engines/sqlite/commit-notes.ts";
import type { SqliteEngineOptions } from "../../src/engines/sqlite/sqlite-engine.ts";
import { openSqliteEngine } from "../../src/engines/sqlite/sqlite-engine.ts";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import { prepareCommit } from "../../src/store/prepare-commit.ts";
import { everything, keyRange } from "../../src/store/ranges.ts";
import type { Commit, Engine } from "../../src/store/store.ts";
import { manualClock } from "./manual-clock.ts";

/** What became of one flipped byte. `silent` and `internal` are what must not happen. */
export type Verdict = "harmless" | "detected" | "silent" | "internal";

export interface FlippedByte {
  readonly offset: number;
  readonly verdict: Verdict;
  /** The first question that was answered differently or failed, and how. */
  readonly says?: string;
}

const namespaces = ["first", "second"] as const;
const keys = Array.from({ length: 40 }, (_, i) => `state/${String(i).padStart(3, "0")}`);

function commits(): Commit[] {
  const made: Commit[] = [];
  for (let round = 0; round < 6; round += 1)
    for (const [i, key] of keys.entries()) {
      const record = { kind: "state", op: "set", subject: key };
      if ((i + round) % 11 === 0) made.push({ writer: "worker", writes: [{ op: "delete", key, record: { ...record, op: "delete" } }] });
      else
        made.push({
          writer: `worker-${i % 3}`,
          agent: i % 2 === 0 ? "tester" : undefined,
          request: i % 7 === 0 ? { key: `request-${round}-${i}`, fingerprint: "same", note: { round } } : undefined,
          writes: [
            {
              op: "put",
              key,
              value: { text: `value ${round} of ${key}`, more: "x".repeat(i % 9 === 0 ? 5_000 : 40) },
              ttlMs: i % 5 === 0 ? 3_600_000 : undefined,
              record,
              index:
                i % 4 === 0
                  ? {
                      area: "notes",
                      length: 3,
                      terms: [
                        ["value", 100],
                        [`round${round}`, 50],
                        [key, 200],
                      ],
                    }
                  : undefined,
            },
            { op: "put", key: `step/${round}/${i}`, value: i },
          ],
        });
    }
  return made;
}

/** Everything that can be asked of the store, by name. */
const questions: Readonly<Record<string, (engine: Engine, namespace: string) => Promise<unknown>>> = {
  ...Object.fromEntries(keys.map((key) => [`read ${key}`, (engine: Engine, namespace: string) => engine.read(namespace, [keyRange(key)], {})])),
  listing: (engine, namespace) => engine.read(namespace, [everything], {}),
  "listing without values": (engine, namespace) => engine.read(namespace, [everything], { values: false }),
  past: (engine, namespace) => engine.read(namespace, [everything], { at: 120 }),
  log: (engine, namespace) => engine.log(namespace, { ranges: [everything], limit: 1_000 }),
  history: (engine, namespace) => engine.log(namespace, { ranges: [everything], recorded: { kinds: ["state"] }, reverse: true, values: false }),
  "history of a key": (engine, namespace) => engine.log(namespace, { ranges: [keyRange(keys[4] as string)], narrow: true }),
  count: (engine, namespace) => engine.count(namespace, everything),
  request: (engine, namespace) => engine.readRequest(namespace, "request-3-7"),
  search: async (engine, namespace) => {
    const answer = await engine.search(namespace, { areas: ["notes"], terms: ["value", "round5", keys[8] as string] });
    return { ...answer, hits: answer.hits.toSorted((a, b) => a.revision - b.revision) };
  },
  keys: (engine, namespace) => engine.dump(namespace, { part: "keys" }),
  requests: (engine, namespace) => engine.dump(namespace, { part: "requests", after: { keptUntilMs: 0 } }),
  namespaces: (engine) => engine.namespaces(),
  "a commit": async (engine, namespace) => {
    const commit = prepareCommit({
      writer: "later",
      checks: [{ key: keys[3] as string, is: "present" }],
      writes: [...keys.slice(10, 20), "new"].map((key) => ({ op: "put", key, value: 1 })),
    });
    return engine.commit(namespace, [commit]);
  },
};

const parts = ["", "-wal", "-bell"] as const;

interface Flip {
  readonly part: (typeof parts)[number];
  readonly offset: number;
  readonly mask: number;
}

/** A store whose process was killed: its file, its log with commits that are nowhere else, and the notes beside it. */
export class FlippedStore {
  readonly #path: string;
  readonly #pristine = new Map<string, Buffer>();
  #expected = new Map<string, string>();

  readonly #options: Pick<SqliteEngineOptions, "checkedWholeBytes">;

  private constructor(folder: string, options: Pick<SqliteEngineOptions, "checkedWholeBytes">) {
    this.#options = options;
    this.#path = join(folder, "store.db");
  }

  /** `options`: how the damaged store is opened. */
  static async make(folder: string, options: Pick<SqliteEngineOptions, "checkedWholeBytes"> = {}): Promise<FlippedStore> {
    const store = new FlippedStore(folder, options);
    const path = join(folder, "made.db");
    const made = commits().map((commit) => prepareCommit(commit));
    const half = Math.floor(made.length / 2);
    {
      await using engine = await openSqliteEngine({ path, clock: manualClock() });
      for (const namespace of namespaces) for (const commit of made.slice(0, half)) await engine.commit(namespace, [commit]);
    }
    {
      // Opened again: what was committed so far is in the file itself, what follows is in the log alone.
      await using engine = await openSqliteEngine({ path, clock: manualClock() });
      for (const namespace of namespaces) for (const commit of made.slice(half)) await engine.commit(namespace, [commit]);
      for (const part of parts) store.#pristine.set(part, readFileSync(`${path}${part}`));
    }
    store.#expected = new Map([...(await store.#ask())].map(([question, { says }]) => [question, says]));
    return store;
  }

  bytes(part: (typeof parts)[number]): number {
    return (this.#pristine.get(part) as Buffer).length;
  }

  async flip(part: (typeof parts)[number], offset: number, mask: number): Promise<FlippedByte> {
    let detected: string | undefined;
    for (const [question, { says, failure }] of await this.#ask({ part, offset, mask })) {
      if (failure === "internal") return { offset, verdict: "internal", says: `${question}: ${says}` };
      if (failure !== undefined) detected ??= `${question}: ${says}`;
      else if (says !== this.#expected.get(question)) return { offset, verdict: "silent", says: question };
    }
    return detected === undefined ? { offset, verdict: "harmless" } : { offset, verdict: "detected", says: detected };
  }

  /** Every question, on a fresh copy of the files with one byte of one of them changed. */
  async #ask(flip?: Flip): Promise<Map<string, { readonly says: string; readonly failure?: string }>> {
    for (const suffix of [...parts, "-shm", "-journal"]) rmSync(`${this.#path}${suffix}`, { force: true });
    for (const suffix of parts) writeFileSync(`${this.#path}${suffix}`, this.#pristine.get(suffix) as Buffer);
    // Notes count for the store's file as it is when they are written; what is changed in them is changed afterwards.
    if (flip !== undefined && flip.part !== "-bell") this.#change(flip);
    this.#note();
    if (flip?.part === "-bell") this.#change(flip);
    const answers = new Map<string, { readonly says: string; readonly failure?: string }>();
    const put = async (question: string, ask: () => Promise<unknown>): Promise<void> => {
      try {
        answers.set(question, { says: JSON.stringify(await ask()) });
      } catch (error) {
        answers.set(question, {
          says: error instanceof Error ? `${error.message} ${String(error.cause ?? "")}` : String(error),
          failure: isHoldfastError(error) ? error.code : "internal",
        });
      }
    };
    let engine: Engine | undefined;
    await put("opening", async () => {
      engine = await openSqliteEngine({ path: this.#path, clock: manualClock(), ...this.#options });
    });
    if (engine === undefined) return answers;
    const opened = engine;
    for (const namespace of namespaces) for (const [question, ask] of Object.entries(questions)) await put(`${question} in ${namespace}`, () => ask(opened, namespace));
    await opened[Symbol.asyncDispose]();
    return answers;
  }

  #change({ part, offset, mask }: Flip): void {
    const bytes = readFileSync(`${this.#path}${part}`);
    bytes[offset] = (bytes[offset] as number) ^ mask;
    writeFileSync(`${this.#path}${part}`, bytes);
  }

  /** A copy is another file to the notes: they are written anew, as the engine wrote them beside the original. */
  #note(): void {
    const descriptor = openSync(`${this.#path}-bell`, "r+");
    try {
      for (const [i] of namespaces.entries()) writeCommitNote(descriptor, this.#path, { namespaceId: i + 1, revision: revisionOf(this.#pristine.get("-bell") as Buffer, i + 1) });
    } finally {
      closeSync(descriptor);
    }
  }
}

/** The layout of notes in commit-notes.ts. */
const revisionOf = (bell: Buffer, namespaceId: number): number => bell.readDoubleLE(64 + namespaceId * 48);

/** Flips `count` bytes of one part, each alone, at random places. */
export async function flipBytes(store: FlippedStore, part: (typeof parts)[number], count: number, random: (below: number) => number): Promise<readonly FlippedByte[]> {
  const flipped: FlippedByte[] = [];
  for (let i = 0; i < count; i += 1) flipped.push(await store.flip(part, random(store.bytes(part)), 1 + random(255)));
  return flipped;
}

export const tally = (flipped: readonly FlippedByte[]): Readonly<Record<Verdict, number>> => {
  const counts = { harmless: 0, detected: 0, silent: 0, internal: 0 };
  for (const { verdict } of flipped) counts[verdict] += 1;
  return counts;
};
