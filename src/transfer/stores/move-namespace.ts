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
  /** The source stays open, and the destination becomes a separate second store. */
  readonly staysOpen: boolean;
  /** The address of the destination without its password, for callers that still use the source and to identify the migration. */
  readonly destinationName: string;
}

export type Moved =
  | { readonly ok: true; readonly facts: NamespaceFacts; readonly records: number; readonly sha256: string; readonly pausedMs: number }
  | { readonly ok: false; readonly difference: string };

/** If writers are faster than the copy, they are stopped after this many rounds. */
const roundsMax = 12;
/** The changes of a round this short are copied quickly while writers wait. */
const shortRoundMs = 100;

/**
 * Moves one namespace from one store to another. Writers are stopped only for the last few changes, after everything before has been compared.
 * A difference is returned, not thrown: the source is then open again, and the destination stays sealed, to be filled again or undone.
 */
export async function moveNamespace(options: MoveOptions): Promise<Moved> {
  const { source, clock, staysOpen } = options;
  const before = await readFacts(source);
  if (before.seal?.state === "moved") return finishMoved(options, before, before.seal);
  // If an earlier run was killed while writers were paused, they may continue until this run reaches that point.
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
      // Nothing can have been written since. Checked nevertheless, in case a server lost the seal for a while.
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

/** Repeats until a round is short: a full copy leaves many changes to catch up, each round leaves fewer. */
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

/** Whether the source's seal refers to this destination: it names the destination or the run that filled it, because a store can have several names. */
function isAbout(seal: Seal | undefined, { destinationName }: Pick<MoveOptions, "destinationName">, there: NamespaceFacts): boolean {
  if (seal?.state !== "moving" && seal?.state !== "moved") return false;
  return seal.to === destinationName || (there.seal?.state === "filling" && seal.by !== undefined && there.seal.by === seal.by);
}

/** Completes a move that was killed between the last two steps: the source is marked as moved, the destination is complete and still sealed. */
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
 * Reverts a move that did not complete: the destination is cleared and the source opened, unless it has been or is being moved to another store since.
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
  // The copy is cleared before the source is opened. At no moment do two stores look like the current one, nor does the source claim to be moved to an empty store.
  const isMine = (seal: Seal | undefined): boolean => isAbout(seal, options, there);
  if (left !== undefined) await changeSeal(source, (seal) => (seal?.state === "moved" && isMine(seal) ? { state: "moving", by: seal.by ?? "", to: destinationName } : seal));
  await left?.clear();
  const formerBy = there.seal?.state === "filling" ? (there.seal.by ?? "") : "";
  const isOpened = await changeSeal(source, (seal) => (seal?.state === "moving" && isMine(seal) ? undefined : withoutHold(seal, formerBy)));
  return left !== undefined || isOpened ? "undone" : "nothing to undo";
}
