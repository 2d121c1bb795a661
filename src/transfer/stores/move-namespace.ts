import { HoldfastError } from "../../kernel/errors.ts";
import type { NamespaceFacts } from "../../store/store.ts";
import type { Side } from "./compare-namespaces.ts";
import { compareChanges, compareNamespaces } from "./compare-namespaces.ts";
import type { CopyOptions } from "./copy-namespace.ts";
import { beginCopy, catchUp, copyEverything, factsOf, Hold } from "./copy-namespace.ts";
import type { Filling } from "./filling.ts";
import { progressIn } from "./filling.ts";

export interface MoveOptions extends CopyOptions {
  /** The source stays open and the destination is a second store of its own from now on. */
  readonly staysOpen: boolean;
  /** How the destination is called to those who still ask the source; without password. */
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
 * A difference is an answer: the source is open again then, and what was filled stays sealed, to be begun anew or undone.
 */
export async function moveNamespace(options: MoveOptions): Promise<Moved> {
  const { source, clock, staysOpen } = options;
  const before = await factsOf(source);
  if (before.seal?.state === "filling") throw unusable(source, "is itself still being filled from another store");
  if (before.seal?.state === "moved") return finishMoved(options, before);
  // A move that was killed while writers waited: they may go on until it is that far again.
  const hold = new Hold(source, clock);
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
    if (!compared.equal) return await refute(filling, source, compared.difference);
    let pausedMs = 0;
    if (!staysOpen) {
      const requestsMs = filling.progress.requestsMs;
      const comparedThrough = facts.revision;
      await hold.renew();
      facts = await closeIn(options, filling, hold);
      const pausedAtMs = clock.nowMs();
      await source.engine.seal(source.namespace, { state: "moving" });
      facts = await catchUp(options, filling);
      const last = await compareChanges(source, copy, facts, comparedThrough, requestsMs);
      if (!last.equal) return await refute(filling, source, last.difference);
      await filling.note({ stage: "verified" });
      await source.engine.seal(source.namespace, { state: "moved", to: options.destinationName });
      pausedMs = clock.nowMs() - pausedAtMs;
    }
    await filling.open();
    if (staysOpen) await source.engine.seal(source.namespace, undefined);
    return { ok: true, facts, records: compared.records, sha256: compared.sha256, pausedMs };
  } catch (error) {
    // Where even that fails, the first failure is the one to tell of.
    await release(source).catch(() => {});
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

async function refute(filling: Filling, source: Side, difference: string): Promise<Moved> {
  await filling.note({ stage: "refuted" });
  await release(source);
  return { ok: false, difference };
}

/** Whatever went wrong: the source is what it was. A move that had already ended is not taken back. */
async function release(source: Side): Promise<void> {
  const { seal } = await factsOf(source);
  if (seal?.state === "copying" || seal?.state === "moving") await source.engine.seal(source.namespace, undefined);
}

/** Killed between the last two steps: the source says moved, the destination is whole and still sealed. */
async function finishMoved({ source, destination, by, destinationName }: MoveOptions, before: NamespaceFacts): Promise<Moved> {
  const there = await factsOf(destination);
  const progress = progressIn(there);
  if (progress?.by !== by || progress.stage !== "verified") throw unusable(source, `was moved already, to ${before.seal?.state === "moved" ? before.seal.to : destinationName}`);
  const compared = await compareNamespaces(source, destination, { facts: before });
  if (!compared.equal) return { ok: false, difference: compared.difference };
  await destination.engine.seal(destination.namespace, undefined);
  return { ok: true, facts: there, records: compared.records, sha256: compared.sha256, pausedMs: 0 };
}

const unusable = ({ namespace }: Side, why: string): HoldfastError =>
  new HoldfastError("invalid_input", `The namespace ${JSON.stringify(namespace)} ${why}; nothing was changed.`, { details: { namespace } });

/** Takes back a move that did not end: the destination is empty again, the source open. */
export async function undoMove({ source, destination, by }: Pick<MoveOptions, "source" | "destination" | "by">): Promise<"undone" | "nothing to undo"> {
  const [here, there] = [await factsOf(source), await factsOf(destination)];
  const progress = progressIn(there);
  if (progress !== undefined && progress.by !== by)
    throw new HoldfastError("invalid_input", `The namespace ${JSON.stringify(destination.namespace)} is being filled by another job (${progress.by}); nothing was changed.`);
  if (here.seal?.state === "moved" && progress === undefined)
    throw new HoldfastError("invalid_input", `The namespace ${JSON.stringify(source.namespace)} has been moved completely, to ${here.seal.to}; there is nothing to undo.`, {
      hint: "To come back, migrate from there to a new store.",
    });
  // First the copy, then the source: at no moment are there two that could be taken for the one.
  if (progress !== undefined) await destination.engine.clear(destination.namespace);
  const wasHeld = here.seal !== undefined && here.seal.state !== "filling";
  if (wasHeld) await source.engine.seal(source.namespace, undefined);
  return progress !== undefined || wasHeld ? "undone" : "nothing to undo";
}
