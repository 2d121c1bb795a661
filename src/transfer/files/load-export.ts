import type { Clock } from "../../kernel/clock.ts";
import { HoldfastError, invalidInput, isHoldfastError } from "../../kernel/errors.ts";
import { randomHex } from "../../kernel/ids.ts";
import { baseAbove, gapsMax } from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import type { Engine, NamespaceFacts, Revision, StoredRecord } from "../../store/store.ts";
import { readFacts } from "../stores/change-seal.ts";
import type { Filling } from "../stores/filling.ts";
import { openFilling, progressIn, takeOver } from "../stores/filling.ts";
import { cutHistory, factsAt } from "./cut-history.ts";
import { digestOf, NamespaceDigest } from "./export-lines.ts";
import type { ExportPart } from "./read-export.ts";
import { readExport } from "./read-export.ts";

/** Where the restored history ends: at a revision or at a time. */
export type Until = { readonly revision: Revision } | { readonly atMs: number };

export interface LoadOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly path: string;
  /** Maps names in the file to names in this store. */
  readonly into: ReadonlyMap<string, string>;
  readonly until?: Until;
  /** The original store may have continued after the file was written. Revisions, versions and tokens then continue above any it can have handed out. */
  readonly leaps: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (stage: "checking" | "loading", records: number) => void;
}

export interface Loaded {
  readonly namespace: string;
  readonly into: string;
  readonly records: number;
  /** The last revision of the loaded history. */
  readonly through: Revision;
  /** The revision at which the namespace continues. */
  readonly revision: Revision;
}

/** Reads and checks the whole file, and checks that all of its namespaces can be filled, before any is changed. */
export async function planLoad(options: LoadOptions): Promise<LoadPlan> {
  const plan = await checkFile(options);
  for (const [, name] of options.into) await requireFree(options.engine, name, jobName(plan.sha256));
  return plan;
}

/**
 * Fills unused namespaces from a checked export. The data is loaded under a seal and compared with the file;
 * only then are all namespaces opened. If anything fails before that, they are empty again.
 */
export async function loadExport(options: LoadOptions, plan: LoadPlan): Promise<readonly Loaded[]> {
  const { engine, clock, into, signal } = options;
  const run = { clock, job: jobName(plan.sha256), by: randomHex(16), beginsAnew: true };
  const loaded: Loaded[] = [];
  const begun: Filling[] = [];
  try {
    for (const [namespace, name] of into) {
      // Starting over what an earlier run left is as quick as finding out how far it got.
      const filling = await openFilling({ engine, namespace: name }, { ...run, source: plan.chosen.get(namespace) as NamespaceFacts });
      begun.push(filling);
      loaded.push(await loadOne(options, plan, namespace, filling));
    }
    signal?.throwIfAborted();
  } catch (error) {
    // A namespace that another run has taken over meanwhile must not be cleared here.
    for (const filling of begun) await filling.clear().catch((failed: unknown) => requireConflict(failed));
    throw error;
  }
  for (const filling of begun) await filling.open();
  return loaded;
}

function requireConflict(error: unknown): void {
  if (!isHoldfastError(error, "conflict")) throw error;
}

const jobName = (sha256: string): string => `loading of the file with checksum ${sha256.slice(0, 16)}`;

async function requireFree(engine: Engine, namespace: string, by: string): Promise<void> {
  const facts = await readFacts({ engine, namespace });
  const other = progressIn(facts);
  if (other?.by === by || (facts.revision === 0 && facts.seal === undefined)) return;
  const why = facts.seal?.state === "moved" ? `was moved away, to ${facts.seal.to}` : other === undefined ? "has data already" : `is being filled by another job (${other.by})`;
  throw new HoldfastError("invalid_input", `The namespace ${JSON.stringify(namespace)} ${why}; nothing was changed.`, {
    hint: "Use an empty store, or another namespace with --to-namespace.",
    details: { namespace },
  });
}

/** Clears what an unfinished load of this same file left. */
export async function undoLoad({ engine, clock, path, into }: Pick<LoadOptions, "engine" | "clock" | "path" | "into">): Promise<readonly string[]> {
  const { sha256 } = await checkFile({ path, into, clock });
  const undone: string[] = [];
  for (const [, namespace] of into) {
    const facts = await readFacts({ engine, namespace });
    const progress = progressIn(facts);
    if (progress?.by !== jobName(sha256)) continue;
    await (await takeOver({ engine, namespace }, clock, facts, progress)).clear();
    undone.push(namespace);
  }
  return undone;
}

export interface LoadPlan {
  readonly sha256: string;
  /** By the name in the file: the facts of the namespace before it leaps to a higher revision. */
  readonly chosen: ReadonlyMap<string, NamespaceFacts>;
  /** The revision at which each namespace is cut. */
  readonly cuts: ReadonlyMap<string, Revision>;
}

/** Clocks of machines differ by less. A store whose clock is in the future would expire no lease and no entry until then. */
const aheadMsMax = 86_400_000;

async function checkFile({ path, into, until, clock, signal, onProgress }: Pick<LoadOptions, "path" | "into" | "until" | "clock" | "signal" | "onProgress">): Promise<LoadPlan> {
  const chosen = new Map<string, NamespaceFacts>();
  const cuts = new Map<string, Revision>();
  let records = 0;
  let current: { readonly namespace: string; readonly facts: NamespaceFacts; last?: { readonly revision: Revision; readonly atMs: number } } | undefined;
  const close = (): void => {
    if (current === undefined || until === undefined) return;
    cuts.set(current.namespace, cutOf(until, current.facts, current.last));
    // Fails now, before anything is changed, if the history does not reach back that far.
    chosen.set(current.namespace, factsAt(current.facts, cutOf(until, current.facts, current.last), current.last));
  };
  for await (const part of readExport(path)) {
    signal?.throwIfAborted();
    if (part.is === "end") {
      close();
      const missing = [...into.keys()].find((name) => !chosen.has(name));
      if (missing !== undefined) throw new HoldfastError("not_found", `--namespace: the file has no namespace ${JSON.stringify(missing)}; nothing was changed.`);
      return { sha256: part.sha256, chosen, cuts };
    }
    if (part.is === "namespace") {
      if (part.facts.clockMs > clock.nowMs() + aheadMsMax)
        throw invalidInput("<file>", `the clock of the namespace ${JSON.stringify(part.namespace)} is ahead of this machine's; check this machine's clock. Nothing was changed`);
      close();
      current = into.has(part.namespace) ? { namespace: part.namespace, facts: part.facts } : undefined;
      if (current !== undefined) chosen.set(part.namespace, part.facts);
      continue;
    }
    records += 1;
    if (records % 1_000 === 0) onProgress?.("checking", records);
    const { record } = part;
    if (current === undefined || record.kind !== "log" || until === undefined) continue;
    if ("revision" in until ? record.revision <= until.revision : record.atMs <= until.atMs) current.last = record;
  }
  throw invalidInput("<file>", "is cut off; nothing was changed");
}

function cutOf(until: Until, facts: NamespaceFacts, last: { readonly revision: Revision } | undefined): Revision {
  if ("revision" in until) {
    if (until.revision > facts.revision) throw invalidInput("--at", `revision ${until.revision} is not in the file; the newest is ${facts.revision}`);
    return until.revision;
  }
  if (until.atMs < facts.compactedAtMs)
    throw new HoldfastError("compacted", `--at: the history in the file begins at ${new Date(facts.compactedAtMs).toISOString()}; nothing was changed.`, {
      details: { field: "--at" },
    });
  return Math.max(facts.compacted, last?.revision ?? 0);
}

async function loadOne(options: LoadOptions, { chosen, cuts }: LoadPlan, namespace: string, filling: Filling): Promise<Loaded> {
  const { engine, namespace: into } = filling;
  const { clock, path, leaps, signal, onProgress } = options;
  const facts = chosen.get(namespace) as NamespaceFacts;
  const cut = cuts.get(namespace);
  const all = sectionOf(readExport(path), namespace);
  const digest = new NamespaceDigest(facts);
  let records = 0;
  let page: StoredRecord[] = [];
  let bytes = 0;
  const send = async (): Promise<void> => {
    signal?.throwIfAborted();
    if (page.length > 0) await filling.load(page);
    page = [];
    bytes = 0;
    onProgress?.("loading", records);
  };
  for await (const record of cut === undefined ? all : cutHistory(all, cut)) {
    digest.add(record);
    page.push(record);
    records += 1;
    bytes += record.kind === "log" ? (record.json?.length ?? 0) : record.kind === "key" ? (record.index?.terms.length ?? 0) * 16 : 512;
    if (page.length >= limits.dumpRecordsMax || bytes > limits.commitBytesMax) await send();
  }
  await send();
  await filling.load([], facts);
  if ((await digestOf({ engine, namespace: into })) !== digest.value())
    throw new HoldfastError("store_damaged", `The data loaded into ${JSON.stringify(into)} differs from the file; the namespace is empty again.`, {
      hint: "The file matches its checksum but is inconsistent: it was not written by an export.",
    });
  const leapt = leaps ? leap(facts, clock.nowMs()) : facts;
  if (leaps) await filling.load([], leapt);
  return { namespace, into, records, through: facts.revision, revision: leapt.revision };
}

function leap(facts: NamespaceFacts, nowMs: number): NamespaceFacts {
  const base = baseAbove(facts.revision, facts.revision, nowMs);
  return { ...facts, base, revision: base, gaps: [...facts.gaps, [facts.revision, base] as const].slice(-gapsMax) };
}

/** One namespace's records. The file is read to its end regardless, because it may have changed since it was checked. */
async function* sectionOf(parts: AsyncIterable<ExportPart>, namespace: string): AsyncGenerator<StoredRecord> {
  let isMine = false;
  for await (const part of parts) {
    if (part.is === "namespace") isMine = part.namespace === namespace;
    else if (part.is === "record" && isMine) yield part.record;
  }
}
