import { HoldfastError } from "../../kernel/errors.ts";
import type { NamespaceFacts, Seal } from "../../store/store.ts";
import { changeSeal, readFacts } from "./change-seal.ts";
import { compareChanges, compareNamespaces } from "./compare-namespaces.ts";
import type { CopyOptions } from "./copy-namespace.ts";
import { beginCopy, catchUp, copyEverything } from "./copy-namespace.ts";
import type { Filling } from "./filling.ts";
import { progressIn, takeOver } from "./filling.ts";
import { Hold, unusableNamespace, withoutHold } from "./hold.ts";
import { factsLine } from "./record-line.ts";

export interface MoveOptions extends CopyOptions {
  /** The source stays open and the destination is a second store of its own from now on. */
  readonly staysOpen: boolean;
  /** Where the destination is, for those who still ask the source, and to tell one migration from another; without password. */
  readonly destinationName: string;
}

export type Moved =
  | { readonly ok: true; readonly facts: NamespaceFacts; readonly records: number; readonly sha256: string; readonly pausedMs: number }
  | { readonly ok: false; readonly difference: string };

/** A source whose writers come faster than pages can be read is stopped rather than chased for ever. */
const roundsMax = 12;
/** What was committed during a round this short is quickly taken over while writers wait. */
const shortRoundMs = 100;

/**
 * One namespace from one store to another. Writers are only stopped for the last few changes, and only when everything before has been compared.
 * A difference is an answer: the source is open again then, and the destination stays sealed, to be filled again or undone.
 */
export async function moveNamespace(options: MoveOptions): Promise<Moved> {
  const { source, clock, staysOpen } = options;
  const before = await readFacts(source);
  if (before.seal?.state === "moved") return finishMoved(options, before, before.seal);
  // The earlier run was killed while writers were paused: they may continue until this run gets that far.
  const hold = new Hold(source, clock, { to: options.destinationName });
  try {
    await hold.renew();
    const filling = await beginCopy(options, hold);
    await copyEverything(options, filling, hold);
    let facts = await closeIn(options, filling, hold);
    const copy = { engine: filling.engine, namespace: filling.namespace };
    const onRecords = async (records: number): Promise<void> => {
      options.signal?.throwIfAborted();
      await hold.renew();
      options.onProgress?.({ stage: "comparing", records });
    };
    const compared = await compareNamespaces(source, copy, { facts, requestsMs: filling.progress.requestsMs, onRecords });
    if (!compared.equal) return await refute(filling, hold, compared.difference);
    let pausedMs = 0;
    if (!staysOpen) {
      const requestsMs = filling.progress.requestsMs;
      const comparedThrough = facts.revision;
      await hold.renew();
      facts = await closeIn(options, filling, hold);
      const pausedAtMs = clock.nowMs();
      await hold.stopWriters();
      facts = await catchUp(options, filling);
      const last = await compareChanges(source, copy, facts, comparedThrough, requestsMs);
      if (!last.equal) return await refute(filling, hold, last.difference);
      await filling.note({ stage: "verified" });
      await hold.sealMoved();
      pausedMs = clock.nowMs() - pausedAtMs;
      // Nothing can have been written since. If it was all the same (a server that forgot the seal for a while), it is better to find out now than never.
      const now = await readFacts(source);
      if (factsLine("", now) !== factsLine("", facts)) {
        await hold.takeBackMoved();
        return await refute(filling, hold, `the source is at revision ${now.revision} instead of ${facts.revision}, although it should accept no writes`);
      }
    }
    await filling.open();
    if (staysOpen) await hold.release();
    return { ok: true, facts, records: compared.records, sha256: compared.sha256, pausedMs };
  } catch (error) {
    // If even that fails, report the first failure.
    await hold.release().catch(() => {});
    throw error;
  }
}

/** Round after round until one is short: the changes of a whole copy are many, those of catching them up are few. */
async function closeIn(options: CopyOptions, filling: Filling, hold: Hold): Promise<NamespaceFacts> {
  for (let round = 1; ; round += 1) {
    const startedMs = options.clock.nowMs();
    const facts = await catchUp(options, filling, hold);
    if (round === roundsMax || options.clock.nowMs() - startedMs < shortRoundMs) return facts;
  }
}

async function refute(filling: Filling, hold: Hold, difference: string): Promise<Moved> {
  await filling.note({ stage: "refuted" });
  await hold.release();
  return { ok: false, difference };
}

/** Does the source's seal speak of this destination? It names it, or the run that filled it: a store can be named in several ways. */
function isAbout(seal: Seal | undefined, { destinationName }: Pick<MoveOptions, "destinationName">, there: NamespaceFacts): boolean {
  if (seal?.state !== "moving" && seal?.state !== "moved") return false;
  return seal.to === destinationName || (there.seal?.state === "filling" && seal.by !== undefined && there.seal.by === seal.by);
}

/** Killed between the last two steps: the source says moved, the destination is whole and still sealed. */
async function finishMoved(options: MoveOptions, before: NamespaceFacts, seal: Seal & { state: "moved" }): Promise<Moved> {
  const { source, destination, by } = options;
  const there = await readFacts(destination);
  const progress = progressIn(there);
  if (progress?.by !== by || progress.stage !== "verified" || !isAbout(seal, options, there)) throw unusableNamespace(source.namespace, `was moved already, to ${seal.to}`);
  const compared = await compareNamespaces(source, destination, { facts: before });
  if (!compared.equal) return { ok: false, difference: compared.difference };
  await destination.engine.seal(destination.namespace, undefined, there.seal);
  return { ok: true, facts: there, records: compared.records, sha256: compared.sha256, pausedMs: 0 };
}

/**
 * Takes back a move that did not end: the destination is empty again, and the source open, unless it has been moved to, or is being moved to, another store since.
 * If it is interrupted at any step, the same call continues it.
 */
export async function undoMove(options: Pick<MoveOptions, "source" | "destination" | "by" | "destinationName" | "clock">): Promise<"undone" | "nothing to undo"> {
  const { source, destination, by, destinationName, clock } = options;
  const [here, there] = [await readFacts(source), await readFacts(destination)];
  const progress = progressIn(there);
  if (progress !== undefined && progress.by !== by)
    throw new HoldfastError("invalid_input", `The namespace ${JSON.stringify(destination.namespace)} is being filled by another job (${progress.by}); nothing was changed.`);
  if (here.seal?.state === "moved" && progress === undefined)
    throw new HoldfastError("invalid_input", `The namespace ${JSON.stringify(source.namespace)} has been moved completely, to ${here.seal.to}; there is nothing to undo.`, {
      hint: "To move back, migrate from there to a new store.",
    });
  const left = progress === undefined ? undefined : await takeOver(destination, clock, there, progress);
  // First the copy, then the source: at no moment are there two that could be taken for the one, nor a source that says it was moved to what is empty.
  const isMine = (seal: Seal | undefined): boolean => isAbout(seal, options, there);
  if (left !== undefined) await changeSeal(source, (seal) => (seal?.state === "moved" && isMine(seal) ? { state: "moving", by: seal.by ?? "", to: destinationName } : seal));
  await left?.clear();
  const formerBy = there.seal?.state === "filling" ? (there.seal.by ?? "") : "";
  const isOpened = await changeSeal(source, (seal) => (seal?.state === "moving" && isMine(seal) ? undefined : withoutHold(seal, formerBy)));
  return left !== undefined || isOpened ? "undone" : "nothing to undo";
}
