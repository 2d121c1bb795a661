import { expect, onTestFinished } from "vitest";
import type { ErrorCode } from "../../../src/kernel/errors.ts";
import { HoldfastError } from "../../../src/kernel/errors.ts";
import type { Json } from "../../../src/kernel/json.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import { prepareCommit } from "../../../src/store/prepare-commit.ts";
import { everything } from "../../../src/store/ranges.ts";
import type { Check, Commit, CommitResult, Committed, Delete, Engine, LogQuery, LogRow, Put, Revision, Store, Write } from "../../../src/store/store.ts";
import type { ManualClock } from "../../support/manual-clock.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** Opens an engine on the given clock. An engine that keeps files keeps them in `folder`: opened there again, it is the same store. */
export type OpenEngine = (clock: ManualClock, folder: string) => Promise<Engine>;

export interface Fixture {
  readonly engine: Engine;
  readonly store: Store;
  readonly clock: ManualClock;
  /** Closes the engine and opens it again in the same folder. */
  reopen(): Promise<Fixture>;
}

export const namespace = "conformance";

/** A fresh engine, its store and its clock; all are closed when the test ends. */
export async function openFixture(open: OpenEngine): Promise<Fixture> {
  const folder = await temporaryFolder();
  const clock = manualClock();
  let engine = await open(clock, folder);
  let isOpen = true;
  onTestFinished(async () => {
    if (isOpen) await engine[Symbol.asyncDispose]();
  });
  const fixture = (): Fixture => ({
    engine,
    store: openNamespaceStore(engine, namespace, clock),
    clock,
    reopen: async () => {
      isOpen = false;
      await engine[Symbol.asyncDispose]();
      engine = await open(clock, folder);
      isOpen = true;
      return fixture();
    },
  });
  return fixture();
}

export const put = (key: string, value: Json = key, rest: Partial<Put> = {}): Put => ({ op: "put", key, value, ...rest });
export const del = (key: string, rest: Partial<Delete> = {}): Delete => ({ op: "delete", key, ...rest });

/** A commit by "tester" of the given writes. */
export const commitOf = (writes: Write | readonly Write[], rest: Partial<Commit> = {}): Commit => ({
  writer: "tester",
  ...rest,
  writes: Array.isArray(writes) ? writes : [writes as Write],
});

/** Commits and insists on success. */
export async function commit(store: Store, writes: Write | readonly Write[], rest: Partial<Commit> = {}): Promise<Committed> {
  return committed(await store.commit(commitOf(writes, rest)));
}

export function committed(result: CommitResult | undefined): Committed {
  if (result?.ok !== true) throw new Error(`Expected a successful commit, got ${JSON.stringify(result)}.`);
  return result;
}

export const refusalOf = async (store: Store, checks: readonly Check[]): Promise<CommitResult> => store.commit(commitOf(put("never-written"), { checks }));

export const commitBatch = (engine: Engine, commits: readonly Commit[]): Promise<readonly CommitResult[]> => engine.commit(namespace, commits.map(prepareCommit));

export const keysOf = (items: readonly { readonly key: string }[]): string[] => items.map((item) => item.key);

export async function liveKeys(store: Store): Promise<string[]> {
  return keysOf((await store.read(everything)).entries);
}

/** All rows that a query finds, page after page. */
export async function allRows(store: Store, query: Partial<LogQuery> = {}): Promise<LogRow[]> {
  const rows: LogRow[] = [];
  let edge: { after?: Revision; before?: Revision } = {};
  for (;;) {
    const page = await store.log({ ranges: [everything], ...query, ...edge });
    rows.push(...page.rows);
    if (page.done) return rows;
    edge = query.reverse ? { before: page.through } : { after: page.through };
  }
}

/** Runs every sweep that has something to do. */
export async function sweepAll(engine: Engine): Promise<number> {
  let total = 0;
  for (let swept = await engine.sweep(namespace, 100); swept > 0; swept = await engine.sweep(namespace, 100)) total += swept;
  return total;
}

/** Compacts until `health` says the same compacted revision twice in a row. */
export async function compactAll(engine: Engine, policy: { ageMs?: number; revisions?: number; tombstones?: number }): Promise<number> {
  const full = { ageMs: Number.MAX_SAFE_INTEGER, revisions: Number.MAX_SAFE_INTEGER, tombstones: Number.MAX_SAFE_INTEGER, ...policy };
  let total = 0;
  for (let before = -1, now = 0; before !== now; ) {
    before = now;
    total += (await engine.compact(namespace, full, 10_000)).removed;
    now = await compactedRevision(engine);
  }
  return total;
}

export async function compactedRevision(engine: Engine): Promise<Revision> {
  const { facts } = await engine.health(namespace);
  expect(facts).toHaveProperty("compacted_revision");
  return facts.compacted_revision as Revision;
}

/** The code of the refusal; a success or an error of another kind fails the test. */
export async function codeOf(promise: Promise<unknown>): Promise<ErrorCode> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof HoldfastError)) throw new Error(`Expected a HoldfastError, got ${String(error)}.`, { cause: error });
  expect(error.message.length).toBeGreaterThan(0);
  return error.code;
}

/** For a watch that ends with the test. */
export function abortedAtEnd(): AbortController {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  return controller;
}
