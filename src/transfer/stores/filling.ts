import type { Clock } from "../../kernel/clock.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import type { Engine, NamespaceFacts, Revision } from "../../store/store.ts";

/** How far a copy has come, kept in the destination's seal: whoever runs the same again goes on from here. */
export interface Progress {
  /** Which job fills the namespace, in words: only the same one may go on with it. */
  readonly by: string;
  /** What the source had compacted and where it had leapt to when the copy began: another past cannot be continued. */
  readonly compacted: Revision;
  readonly base: Revision;
  readonly stage: "log" | "keys" | "changes" | "verified" | "refuted";
  /** The log is here up to this revision. */
  readonly log: Revision;
  /** The last key that was walked. */
  readonly key?: string;
  /** Request keys kept until before this are here. */
  readonly requestsMs: number;
}

/** Noting costs a durable write; what was not noted is loaded once more, which changes nothing. */
const noteEveryMs = 1_000;

/** A namespace that is sealed because it is being filled by one job. */
export class Filling {
  readonly engine: Engine;
  readonly namespace: string;
  readonly #clock: Clock;
  #notedMs: number;
  progress: Progress;

  constructor(engine: Engine, namespace: string, clock: Clock, progress: Progress) {
    this.engine = engine;
    this.namespace = namespace;
    this.#clock = clock;
    this.#notedMs = clock.nowMs();
    this.progress = progress;
  }

  /** Remembers how far it got; durably when a stage ends, else now and then. */
  async note(change: Partial<Progress>): Promise<void> {
    const isStage = change.stage !== undefined && change.stage !== this.progress.stage;
    this.progress = { ...this.progress, ...change };
    if (!isStage && this.#clock.nowMs() - this.#notedMs < noteEveryMs) return;
    await this.keep();
  }

  async keep(): Promise<void> {
    await this.engine.seal(this.namespace, { state: "filling", progress: JSON.parse(JSON.stringify(this.progress)) as Json });
    this.#notedMs = this.#clock.nowMs();
  }

  open(): Promise<void> {
    return this.engine.seal(this.namespace, undefined);
  }
}

const freshProgress = (by: string, { compacted, base }: Pick<NamespaceFacts, "compacted" | "base">): Progress => ({ by, compacted, base, stage: "log", log: 0, requestsMs: 0 });

/** The namespace ready to be filled by this job: fresh, or where an earlier run of the same job got to. Anything else is refused untouched. */
export async function openFilling(engine: Engine, namespace: string, clock: Clock, by: string, source: NamespaceFacts, replacesMoved = false): Promise<Filling> {
  const { facts } = await engine.dump(namespace, { part: "keys" });
  const earlier = progressIn(facts);
  if (earlier === undefined && replacesMoved && facts.seal?.state === "moved") await clearMoved(engine, namespace, facts, source);
  else if (earlier === undefined) requireUnused(namespace, facts);
  else if (earlier.by !== by)
    throw inUse(namespace, `is being filled by another job (${earlier.by})`, "Let that one end, run it again, or undo it, before anything else is put there.");
  const goesOn = earlier !== undefined && earlier.stage !== "refuted" && earlier.compacted === source.compacted && earlier.base === source.base && earlier.log <= source.revision;
  if (earlier !== undefined && !goesOn) await engine.clear(namespace);
  const filling = new Filling(engine, namespace, clock, goesOn ? earlier : freshProgress(by, source));
  if (!goesOn) await filling.keep();
  return filling;
}

/** What is left of a namespace that was moved away: whoever comes back must be at least as far. */
async function clearMoved(engine: Engine, namespace: string, left: NamespaceFacts, source: NamespaceFacts): Promise<void> {
  if (left.revision > source.revision)
    throw inUse(namespace, `was moved away from there at revision ${left.revision}, and what is to take its place is only at ${source.revision}`, "Choose another destination.");
  await engine.seal(namespace, { state: "filling", progress: null });
  await engine.clear(namespace);
}

export function requireUnused(namespace: string, { revision, seal }: NamespaceFacts): void {
  if (seal?.state === "moved") throw inUse(namespace, `was moved away from there, to ${seal.to}`, "Choose another destination, or clear what is left there with --replace-moved.");
  if (seal !== undefined || revision > 0)
    throw inUse(namespace, seal?.state === "filling" ? "is being filled by another job" : "has data there already", "Choose an empty store, or another namespace.");
}

const inUse = (namespace: string, why: string, hint: string): HoldfastError =>
  new HoldfastError("invalid_input", `The namespace ${JSON.stringify(namespace)} ${why}; nothing was changed.`, { hint, details: { namespace } });

export function progressIn({ seal }: NamespaceFacts): Progress | undefined {
  if (seal?.state !== "filling" || seal.progress === null || typeof seal.progress !== "object" || !("by" in seal.progress)) return undefined;
  return seal.progress as unknown as Progress;
}
