import { listEffects, readEffect } from "../../domain/effects/find-effects.ts";
import { resolveEffect } from "../../domain/effects/resolve-effect.ts";
import { createRun } from "../../domain/workflows/workflows.ts";
import type { CampaignContext, CampaignResult } from "../campaign.ts";
import { Arena, openSignal, pause } from "../campaign.ts";
import type { WorldEvent } from "../checkers/effects.ts";
import { checkEffects } from "../checkers/effects.ts";
import type { Violation } from "../checkers/violation.ts";
import { effectEvents } from "../effect-events.ts";
import { between } from "../random.ts";
import { readWholeLog } from "../read-whole.ts";
import type { WorkerMessage, WorkerProcess } from "../worker-process.ts";

export interface EffectsSize {
  readonly runs: number;
  /** Effects of each run. */
  readonly effects: number;
  readonly inParallel: number;
  /** How long a claim lasts, and how long an owner counts as alive. */
  readonly ttlMs?: number;
}

const listMax = 1_000;
/** Lines of a worker before it is killed or stopped: from its claim to the end of its second effect. */
const linesMax = 6;
/** A worker stopped in the middle of a transaction keeps the file locked; it is continued when its successor has waited this long. */
const lockWaitMs = 400;

/**
 * G20 to G22. Runs whose effects are done by workers that are killed, or stopped and replaced, between any two lines they print. Effects with an unknown outcome are
 * resolved by what really happened in the world, so in the end every effect has taken place exactly once.
 */
export async function effectsOnce(context: CampaignContext, { runs, effects, inParallel, ttlMs = 80 }: EffectsSize): Promise<CampaignResult> {
  await using arena = new Arena(context, "effects");
  const world: WorldEvent[] = [];
  const figures = { effects: runs * effects, performed: 0, killed: 0, stopped: 0, stopped_refused: 0, repeated: 0, unknown_shown: 0, resolved: 0 };
  const violations: Violation[] = [];
  let next = 0;
  let ended = 0;
  const runLoop = async (): Promise<void> => {
    while (next < runs) {
      const run = `run-${next}`;
      next += 1;
      await createRun(arena.scope, { name: run, runId: run });
      await new EffectRelay(arena, run, { effects, ttlMs }, world, figures).run();
      ended += 1;
      arena.progress(ended / runs);
    }
  };
  await Promise.all(Array.from({ length: inParallel }, runLoop));
  figures.performed = world.filter(({ what }) => what === "performed").length;
  if (figures.performed < figures.effects)
    violations.push({ guarantee: "G20", fault: "effect_skipped", detail: `${figures.performed} of ${figures.effects} effects took place, and every run ended.` });
  const { rows } = await readWholeLog(arena.store);
  return { figures, violations: [...violations, ...checkEffects(world, effectEvents(rows))] };
}

type Figures = Record<"killed" | "stopped" | "stopped_refused" | "repeated" | "unknown_shown" | "resolved", number>;

/** One run, handed from worker to worker. */
class EffectRelay {
  readonly #arena: Arena;
  readonly #run: string;
  readonly #size: Required<Pick<EffectsSize, "effects" | "ttlMs">>;
  readonly #world: WorldEvent[];
  readonly #figures: Figures;
  /** Stopped, and continued once it has been replaced: until it has ended, it may still do something. */
  #sleeper: EffectLeg | undefined;
  #sleeperGone: Promise<void> = Promise.resolve();
  /** The name of the one that was stopped and continues. */
  #waking = "";
  #finished = false;

  constructor(arena: Arena, run: string, size: Required<Pick<EffectsSize, "effects" | "ttlMs">>, world: WorldEvent[], figures: Figures) {
    this.#arena = arena;
    this.#run = run;
    this.#size = size;
    this.#world = world;
    this.#figures = figures;
  }

  async run(): Promise<void> {
    for (let legs = 1; !this.#finished; legs += 1) {
      const isLast = legs > 2 * this.#size.effects;
      const leg = this.#start(isLast ? Number.POSITIVE_INFINITY : between(this.#arena.random, 1, linesMax), legs % 3 === 0 && !isLast);
      if (this.#sleeper !== undefined) this.#sleeperGone = this.#replace(this.#sleeper, leg);
      this.#sleeper = undefined;
      await Promise.race([leg.cut, leg.worker.ended]);
      if (!leg.wasCut()) await leg.worker.finish();
      else if (leg.stops) {
        this.#figures.stopped += 1;
        this.#sleeper = leg;
      } else {
        this.#figures.killed += 1;
        await leg.worker.ended;
      }
      await leg.heard();
      await this.#sleeperGone;
    }
    this.#sleeper?.worker.proceed();
    await this.#sleeper?.worker.finish();
    await this.#sleeper?.heard();
  }

  #start(lines: number, stops: boolean): EffectLeg {
    const claimed = openSignal<void>();
    const refused = openSignal<string>();
    const cut = openSignal<void>();
    let said = 0;
    let hearing: Promise<void> = Promise.resolve();
    const worker: WorkerProcess = this.#arena.start("effects", {}, (message) => {
      if (message.claimed !== undefined) claimed.resolve();
      if (message.refused !== undefined) refused.resolve(String(message.refused));
      if (message.finished === true || message.refused === "workflow_finished") this.#finished = true;
      hearing = hearing.then(() => this.#hear(worker, message));
      said += 1;
      if (said === lines) {
        if (stops) worker.stop();
        else worker.kill();
      }
      if (said >= lines || message.finished === true || message.refused !== undefined) cut.resolve();
    });
    const { effects, ttlMs } = this.#size;
    worker.send({ run: this.#run, effects, ttlMs, liveMs: ttlMs });
    return { worker, stops, claimed: claimed.promise, refused: refused.promise, cut: cut.promise, wasCut: () => said >= lines, heard: () => hearing };
  }

  async #hear({ name: by }: WorkerProcess, message: WorkerMessage): Promise<void> {
    const id = String(message.id);
    const effectOf = (step: unknown): string => `${this.#run} ${step}`;
    if (message.performed !== undefined) {
      const wasRecorded = (await readEffect(this.#arena.scope, id)) !== undefined;
      this.#world.push({ what: "performed", effect: effectOf(message.performed), id, by, answer: String(message.answer), wasRecorded });
    }
    if (message.acknowledged !== undefined) this.#world.push({ what: "acknowledged", id, by });
    if (message.repeated !== undefined) {
      this.#figures.repeated += 1;
      const answer = message.answer === null ? null : String(message.answer);
      this.#world.push({ what: "repeated", effect: effectOf(message.repeated), id, by, answer, isResolved: message.resolved !== null });
    }
    if (message.unknown !== undefined) await this.#resolve(id, by);
  }

  /** Plays the person who finds the effect in the list, looks at the world and reports what happened. */
  async #resolve(id: string, by: string): Promise<void> {
    const { effects, revision, nowMs } = await listEffects(this.#arena.scope, { state: "unknown", limit: listMax });
    this.#world.push({ what: "listed", revision, nowMs, unknown: effects.map((effect) => effect.id) });
    this.#figures.unknown_shown += 1;
    // The worker that asks cannot be the one that it waits for.
    if (by !== this.#waking) await this.#sleeperGone;
    const seen = this.#world.find((event) => event.what === "performed" && event.id === id);
    // The stopped worker may have reported in the meantime: then nothing is left to resolve.
    if ((await readEffect(this.#arena.scope, id))?.state !== "unknown") return;
    await resolveEffect(this.#arena.scope, { id, as: seen === undefined ? "failed" : "done", reason: "looked" });
    this.#figures.resolved += 1;
  }

  /** The stopped worker sleeps until the other has the run, then continues as if nothing had happened: it may begin nothing more. */
  async #replace(sleeper: EffectLeg, successor: EffectLeg): Promise<void> {
    // From here on, what the sleeper says must not wait for the end of its replacement, which waits until everything it said was heard.
    this.#waking = sleeper.worker.name;
    const outcome = Promise.race([successor.claimed, successor.refused, successor.worker.ended]).then(() => "settled");
    while ((await Promise.race([outcome, pause(this.#size.ttlMs + lockWaitMs).then(() => "waiting")])) === "waiting") {
      sleeper.worker.proceed();
      await pause(1);
      sleeper.worker.stop();
    }
    sleeper.worker.proceed();
    const end = await Promise.race([sleeper.refused, sleeper.worker.finish().then(() => "ended")]);
    if (end === "claim_lost" || end === "workflow_finished") this.#figures.stopped_refused += 1;
    await sleeper.worker.finish();
    await sleeper.heard();
  }
}

interface EffectLeg {
  readonly worker: WorkerProcess;
  readonly stops: boolean;
  readonly claimed: Promise<void>;
  readonly refused: Promise<string>;
  readonly cut: Promise<void>;
  wasCut(): boolean;
  /** Every line that it has printed so far has been processed. */
  heard(): Promise<void>;
}
