import type { Clock } from "../../kernel/clock.ts";
import { HoldfastError, isHoldfastError } from "../../kernel/errors.ts";
import { randomHex } from "../../kernel/ids.ts";
import type { Json } from "../../kernel/json.ts";
import type { Engine, NamespaceFacts, Revision, Seal, StoredRecord } from "../../store/store.ts";
import { readFacts } from "./change-seal.ts";
import type { Side } from "./compare-namespaces.ts";

/** The progress of a copy, kept in the destination's seal so that running the same command again continues from here. */
export interface Progress {
  /** The description of the job that fills the namespace. Only the same job may continue it. */
  readonly by: string;
  /** The source's compacted revision and base when the copy began. A copy of a different history cannot be continued. */
  readonly compacted: Revision;
  readonly base: Revision;
  readonly stage: "log" | "keys" | "changes" | "verified" | "refuted";
  /** The log is copied up to this revision. */
  readonly log: Revision;
  /** The last key that was copied. */
  readonly key?: string;
  /** Request keys that expire before this time are copied. */
  readonly requestsMs: number;
}

/** Saving the progress costs a durable write. Progress that was not saved only means loading the same records again, which changes nothing. */
const noteEveryMs = 1_000;

export interface FillingOptions {
  readonly clock: Clock;
  /** The description of the job; equal descriptions mean the same job. */
  readonly job: string;
  /** Identifies this run of the job. */
  readonly by: string;
  readonly source: Pick<NamespaceFacts, "compacted" | "base" | "revision">;
  /** The destination may be the remains of a namespace that was moved away; those are cleared first. */
  readonly replacesMoved?: boolean;
  /** Do not continue what an earlier run left. */
  readonly beginsAnew?: boolean;
}

/** A namespace that is sealed while one run of one job fills it. Another run of the same job may take it over; after that, every step of this one is rejected. */
export class Filling {
  readonly engine: Engine;
  readonly namespace: string;
  readonly #clock: Clock;
  readonly #by: string;
  #seal: Seal | undefined;
  #notedMs: number;
  progress: Progress;

  /** `seal`: the current seal, which this run will replace with its own. */
  constructor({ engine, namespace }: Side, { clock, by }: Pick<FillingOptions, "clock" | "by">, progress: Progress, seal: Seal | undefined) {
    this.engine = engine;
    this.namespace = namespace;
    this.#clock = clock;
    this.#by = by;
    this.#seal = seal;
    this.#notedMs = clock.nowMs();
    this.progress = progress;
  }

  load(records: readonly StoredRecord[], facts?: NamespaceFacts): Promise<void> {
    return this.engine.load(this.namespace, records, facts, this.#by);
  }

  /** Records the progress: durably at the end of a stage, otherwise only from time to time. */
  async note(change: Partial<Progress>): Promise<void> {
    const isStage = change.stage !== undefined && change.stage !== this.progress.stage;
    this.progress = { ...this.progress, ...change };
    if (!isStage && this.#clock.nowMs() - this.#notedMs < noteEveryMs) return;
    await this.keep();
  }

  async keep(): Promise<void> {
    const next: Seal = { state: "filling", by: this.#by, progress: JSON.parse(JSON.stringify(this.progress)) as Json };
    await this.#change(next);
    this.#seal = next;
    this.#notedMs = this.#clock.nowMs();
  }

  /** Opens the namespace for all callers. */
  open(): Promise<void> {
    return this.#change(undefined);
  }

  /** Marks the data as unusable: a run that is still filling the namespace is rejected from now on. */
  async refute(): Promise<void> {
    this.progress = { ...this.progress, stage: "refuted" };
    await this.keep();
  }

  /** Removes everything, as if the namespace had never been used. */
  async clear(): Promise<void> {
    await this.refute();
    await this.engine.clear(this.namespace);
    this.#seal = undefined;
  }

  async #change(next: Seal | undefined): Promise<void> {
    try {
      await this.engine.seal(this.namespace, next, this.#seal);
    } catch (error) {
      if (!isHoldfastError(error, "conflict")) throw error;
      throw new HoldfastError("conflict", `Another run has taken over the namespace ${JSON.stringify(this.namespace)}, or undid what this run did there; this run has stopped.`, {
        cause: error,
      });
    }
  }
}

const freshProgress = ({ job, source: { compacted, base } }: FillingOptions): Progress => ({ by: job, compacted, base, stage: "log", log: 0, requestsMs: 0 });

/** Prepares the namespace to be filled by this run: new, or continuing an earlier run of the same job. Otherwise fails and changes nothing. */
export async function openFilling(side: Side, options: FillingOptions): Promise<Filling> {
  const { source, job, replacesMoved = false, beginsAnew = false } = options;
  const { namespace } = side;
  const facts = await readFacts(side);
  const earlier = progressIn(facts);
  const isLeft = earlier === undefined && replacesMoved && facts.seal?.state === "moved";
  if (isLeft) requireNotAhead(namespace, facts, source);
  else if (earlier === undefined) requireUnused(namespace, facts);
  else if (earlier.by !== job) throw inUse(namespace, `is being filled by another job (${earlier.by})`, "Wait for that job, run it again, or undo it first.");
  const goesOn =
    earlier !== undefined && !beginsAnew && earlier.stage !== "refuted" && earlier.compacted === source.compacted && earlier.base === source.base && earlier.log <= source.revision;
  const filling = new Filling(side, options, goesOn ? earlier : freshProgress(options), facts.seal);
  if (!goesOn && facts.seal !== undefined) {
    await filling.clear();
    filling.progress = freshProgress(options);
  }
  await filling.keep();
  if (!goesOn) await requireStillUnused(side, filling);
  return filling;
}

/** A writer may have started to use the namespace before the seal was set. */
async function requireStillUnused(side: Side, filling: Filling): Promise<void> {
  const { revision } = await readFacts(side);
  if (revision === 0) return;
  await filling.open();
  throw hasData(side.namespace);
}

/** The namespace that replaces the remains of a moved one must have at least the same revision. */
function requireNotAhead(namespace: string, left: NamespaceFacts, source: Pick<NamespaceFacts, "revision">): void {
  if (left.revision > source.revision)
    throw inUse(
      namespace,
      `was moved away from there at revision ${left.revision}, but the namespace that would replace it is only at ${source.revision}`,
      "Choose another destination.",
    );
}

/** Takes over what an earlier run left unfinished, in order to clear it. */
export async function takeOver(side: Side, clock: Clock, { seal }: NamespaceFacts, progress: Progress): Promise<Filling> {
  const filling = new Filling(side, { clock, by: randomHex(16) }, progress, seal);
  await filling.refute();
  return filling;
}

export function requireUnused(namespace: string, { revision, seal }: NamespaceFacts): void {
  if (seal?.state === "moved") throw inUse(namespace, `was moved away from there, to ${seal.to}`, "Choose another destination, or clear what is left there with --replace-moved.");
  if (seal?.state === "filling") throw inUse(namespace, "is being filled by another job", "Choose an empty store, or another namespace.");
  if (seal !== undefined || revision > 0) throw hasData(namespace);
}

const inUse = (namespace: string, why: string, hint: string): HoldfastError =>
  new HoldfastError("invalid_input", `The namespace ${JSON.stringify(namespace)} ${why}; nothing was changed.`, { hint, details: { namespace } });

const hasData = (namespace: string): HoldfastError => inUse(namespace, "already contains data there", "Choose an empty store, or another namespace.");

export function progressIn({ seal }: NamespaceFacts): Progress | undefined {
  if (seal?.state !== "filling" || seal.progress === null || typeof seal.progress !== "object" || !("by" in seal.progress)) return undefined;
  return seal.progress as unknown as Progress;
}
