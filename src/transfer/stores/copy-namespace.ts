import type { Clock } from "../../kernel/clock.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import type { NamespaceFacts, StoredRecord } from "../../store/store.ts";
import { readFacts } from "./change-seal.ts";
import type { Side } from "./compare-namespaces.ts";
import { changePages, keyPages, logPages, requestPages } from "./dump-pages.ts";
import type { Filling } from "./filling.ts";
import { openFilling } from "./filling.ts";
import { Hold } from "./hold.ts";

export interface CopyProgress {
  readonly stage: "copying" | "catching up" | "comparing";
  /** Records handled in this stage. */
  readonly records: number;
  /** How many revisions the source is ahead. */
  readonly lag?: number;
}

export interface CopyOptions {
  readonly source: Side;
  readonly destination: Side;
  /** The job's name, for messages about its unfinished work; the same name means the same job. */
  readonly by: string;
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: CopyProgress) => void;
  /** The destination may be the remains of a namespace that was moved away; those are cleared first. */
  readonly replacesMoved?: boolean;
  /** Nothing may be written to the source, not even that it is being copied. */
  readonly onlyLooks?: boolean;
}

/** Prepares the destination; fails if it is the source under another name. */
export async function beginCopy({ source, destination, by, clock, replacesMoved }: CopyOptions, hold: Hold): Promise<Filling> {
  const facts = await readFacts(source);
  const there = await readFacts(destination);
  if (source.namespace === destination.namespace && hold.isIn(there.seal))
    throw new HoldfastError("invalid_input", "FROM and TO are the same store; nothing was changed.", { hint: "Name another store as the destination." });
  return openFilling(destination, { clock, job: by, by: hold.by, source: facts, replacesMoved });
}

/** The long part: copies all existing data while others keep writing. `catchUp` copies what they change. */
export async function copyEverything(options: CopyOptions, filling: Filling, hold: Hold): Promise<void> {
  const { source, signal, onProgress } = options;
  let records = 0;
  const take = async (page: { readonly records: readonly StoredRecord[] }): Promise<void> => {
    signal?.throwIfAborted();
    await hold.renew();
    await filling.load(page.records);
    records += page.records.length;
    onProgress?.({ stage: "copying", records });
  };
  if (filling.progress.stage === "log") {
    for await (const page of logPages(source.engine, source.namespace, filling.progress.log)) {
      await take(page);
      const log = page.done ? page.facts.revision : (page.records.at(-1)?.revision ?? 0);
      await filling.note({ log, stage: page.done ? "keys" : "log" });
    }
  }
  if (filling.progress.stage === "keys") {
    for await (const page of keyPages(source.engine, source.namespace, filling.progress.key)) {
      await take(page);
      await filling.note({ key: page.records.at(-1)?.key, stage: page.done ? "changes" : "keys" });
    }
  }
}

/** Copies the namespace as of one moment while others keep writing; the only change to the source is a hold. */
export async function snapshotNamespace(options: CopyOptions): Promise<NamespaceFacts> {
  const { source, clock, onlyLooks } = options;
  const hold = new Hold(source, clock, { onlyLooks, passesMovers: true });
  try {
    await hold.renew();
    const filling = await beginCopy(options, hold);
    await copyEverything(options, filling, hold);
    return await catchUp(options, filling, hold);
  } finally {
    await hold.release();
  }
}

/** Brings the destination to one moment of the source and returns the facts of that moment, which the destination then matches. */
export async function catchUp({ source, signal, onProgress }: CopyOptions, filling: Filling, hold?: Hold): Promise<NamespaceFacts> {
  let records = 0;
  let facts: NamespaceFacts | undefined;
  for await (const page of changePages(source.engine, source.namespace, filling.progress.log)) {
    signal?.throwIfAborted();
    await hold?.renew();
    await filling.load(page.records, page.done ? page.facts : undefined);
    records += page.records.length;
    facts = page.facts;
    // If the source was moved away in the meantime, another namespace may have taken its place, with another history.
    if (facts.compacted !== filling.progress.compacted || facts.seal?.state === "filling")
      throw new HoldfastError("unavailable", "The source compacted part of its history while it was being copied; nothing was changed there.", {
        hint: "Run the same command again.",
      });
    onProgress?.({ stage: "catching up", records, lag: page.facts.revision - page.through });
    await filling.note({ log: page.through });
  }
  await copyRequests(source, filling, signal);
  return facts as NamespaceFacts;
}

/**
 * Copies the request keys of commits that are already copied: the key of a later commit would promise an effect that is missing.
 * Continues from the time of the last key, inclusive, because more keys of the same millisecond may have been added.
 */
async function copyRequests(source: Side, filling: Filling, signal: AbortSignal | undefined): Promise<void> {
  const { log } = filling.progress;
  let ahead = Number.POSITIVE_INFINITY;
  for await (const { records } of requestPages(source.engine, source.namespace, { keptUntilMs: filling.progress.requestsMs })) {
    signal?.throwIfAborted();
    const copied = records.filter(({ outcome }) => outcome.revision <= log);
    if (copied.length > 0) await filling.load(copied);
    ahead = Math.min(ahead, ...records.filter(({ outcome }) => outcome.revision > log).map(({ keptUntilMs }) => keptUntilMs));
    const last = records.at(-1);
    if (last !== undefined) await filling.note({ requestsMs: Math.min(ahead, last.keptUntilMs) });
  }
}
