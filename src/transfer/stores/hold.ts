import type { Clock } from "../../kernel/clock.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import { randomHex } from "../../kernel/ids.ts";
import { requireUnsealed } from "../../store/engine-rules.ts";
import type { Seal } from "../../store/store.ts";
import { changeSeal } from "./change-seal.ts";
import type { Side } from "./compare-namespaces.ts";

/** Long enough to outlast any single page, short enough that a killed copy does not prevent compaction of the source for long. */
const holdMs = 60_000;
const renewMs = 10_000;

export interface HoldOptions {
  /** Nothing may be written to the source, not even that it is being copied. */
  readonly onlyLooks?: boolean;
  /** A reader needs no hold if a mover has stopped the writers: nothing is compacted then, and the mover's seal must stay as it is. */
  readonly passesMovers?: boolean;
  /** A mover's destination. Writers that an earlier run of the same move paused may continue. */
  readonly to?: string;
}

type Holds = Readonly<Record<string, number>>;

/**
 * One run's part in the seal of a source. It keeps data that is still to be copied from being compacted,
 * and lets a mover stop the writers at the end. It does not affect other runs' holds.
 */
export class Hold {
  /** Identifies this run. */
  readonly by = randomHex(16);
  readonly #side: Side;
  readonly #clock: Clock;
  readonly #options: HoldOptions;
  #renewedMs = Number.NEGATIVE_INFINITY;
  /** The other holds at the time writers were stopped. */
  #others: Holds = {};

  constructor(side: Side, clock: Clock, options: HoldOptions = {}) {
    this.#side = side;
    this.#clock = clock;
    this.#options = options;
  }

  async renew(): Promise<void> {
    if (this.#options.onlyLooks === true || this.#clock.nowMs() - this.#renewedMs < renewMs) return;
    const { engine, namespace } = this.#side;
    await changeSeal(this.#side, async (found) => {
      if (this.#options.passesMovers === true && (found?.state === "moving" || found?.state === "moved")) return found;
      if (found?.state !== "moving" || found.to !== this.#options.to) this.#requireHoldable(found);
      const { nowMs } = await engine.position(namespace);
      const lasting = Object.entries(holdsIn(found)).filter(([, untilMs]) => untilMs > nowMs);
      return copying({ ...Object.fromEntries(lasting), [this.by]: nowMs + holdMs });
    });
    this.#renewedMs = this.#clock.nowMs();
  }

  /** Whether this seal shows this run's own hold, which means that the two stores are the same. */
  isIn(seal: Seal | undefined): boolean {
    return Object.hasOwn(holdsIn(seal), this.by);
  }

  /** Writers get `unavailable` from now on. */
  async stopWriters(): Promise<void> {
    await changeSeal(this.#side, (found) => {
      this.#requireHoldable(found);
      this.#others = without(holdsIn(found), this.by);
      return this.#moving;
    });
  }

  /** Changes only the seal that this run set: if writers had resumed in the meantime, their writes would be lost. */
  sealMoved(): Promise<void> {
    return this.#side.engine.seal(this.#side.namespace, this.#moved, this.#moving);
  }

  takeBackMoved(): Promise<void> {
    return this.#side.engine.seal(this.#side.namespace, copying(this.#others), this.#moved);
  }

  /** Restores the source's seal to what it would be without this run. A completed move is not reverted. */
  async release(): Promise<void> {
    if (this.#options.onlyLooks === true) return;
    await changeSeal(this.#side, (found) => {
      if (found?.state === "moving" && found.by === this.by) return copying(this.#others);
      return this.isIn(found) ? copying(without(holdsIn(found), this.by)) : found;
    });
  }

  get #moving(): Seal {
    return { state: "moving", by: this.by, to: this.#options.to as string };
  }

  get #moved(): Seal {
    return { ...this.#moving, state: "moved" } as Seal;
  }

  #requireHoldable(found: Seal | undefined): void {
    const { to } = this.#options;
    if (to === undefined) return requireUnsealed(found, "commit");
    if (found === undefined || found.state === "copying") return;
    const { namespace } = this.#side;
    if (found.state === "filling") throw unusableNamespace(namespace, "is itself still being filled from another store");
    if (found.state === "moved") throw unusableNamespace(namespace, `was moved already, to ${found.to}`);
    throw found.to === to
      ? unusableNamespace(namespace, "is being moved by another run of the same migration")
      : unusableNamespace(namespace, `is being moved to another store, ${found.to}`, "Let that migration finish; if it was interrupted, run it again or undo it.");
  }
}

const holdsIn = (seal: Seal | undefined): Holds => (seal?.state === "copying" ? seal.holds : {});

const without = (holds: Holds, by: string): Holds => Object.fromEntries(Object.entries(holds).filter(([name]) => name !== by));

const copying = (holds: Holds): Seal | undefined => {
  const times = Object.values(holds);
  return times.length === 0 ? undefined : { state: "copying", untilMs: Math.max(...times), holds };
};

/** The seal without this hold. */
export const withoutHold = (seal: Seal | undefined, by: string): Seal | undefined => (Object.hasOwn(holdsIn(seal), by) ? copying(without(holdsIn(seal), by)) : seal);

export const unusableNamespace = (namespace: string, why: string, hint?: string): HoldfastError =>
  new HoldfastError("invalid_input", `The namespace ${JSON.stringify(namespace)} ${why}; nothing was changed.`, { hint, details: { namespace } });
