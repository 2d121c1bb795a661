import { leaseKeys, workflowKeys } from "../../domain/keyspace.ts";
import { requireRunView } from "../../domain/workflows/find-runs.ts";
import { createRun } from "../../domain/workflows/workflows.ts";
import type { LogRow } from "../../store/store.ts";
import type { CampaignContext, CampaignResult } from "../campaign.ts";
import { Arena, asNumber, openSignal, pause, whileAlive } from "../campaign.ts";
import type { Handover, HandoverEvent } from "../checkers/handover.ts";
import { checkHandover } from "../checkers/handover.ts";
import type { Violation } from "../checkers/violation.ts";
import { Violations } from "../checkers/violation.ts";
import { readWholeLog } from "../read-whole.ts";
import type { WorkerMessage, WorkerProcess } from "../worker-process.ts";

/** A worker stopped in the middle of a transaction keeps the file locked. It is continued briefly once its successor has waited this long. */
const lockWaitMs = 400;

export interface HandoverSize {
  /** How long a worker's claim lasts after each of its steps. */
  readonly ttlMs?: number;
  readonly runs: number;
  readonly steps: number;
  readonly inParallel: number;
}

/**
 * G8. Workers on runs of several steps are killed right after one of their messages (claimed, sending a step, step
 * acknowledged, sending the next), so that every point between two messages is covered. A successor takes over.
 * Every third worker is stopped instead, and continued after it has been replaced.
 */
export async function handovers(context: CampaignContext, { runs, steps, inParallel, ttlMs = 60 }: HandoverSize): Promise<CampaignResult> {
  await using arena = new Arena(context, "handover");
  const violations: Violation[] = [];
  const told = new Map<string, readonly Handover[]>();
  const figures = { runs, steps, killed: 0, stopped: 0, stopped_refused: 0, hand_overs: 0 };
  let next = 0;
  const runLoop = async (): Promise<void> => {
    while (next < runs) {
      const run = `run-${next}`;
      next += 1;
      await createRun(arena.scope, { name: run, runId: run });
      const relay = new Relay(arena, run, { steps, ttlMs });
      await relay.run();
      told.set(run, relay.handovers);
      figures.killed += relay.killed;
      figures.stopped += relay.stopped;
      figures.stopped_refused += relay.refused;
      figures.hand_overs += relay.handovers.length - 1;
      violations.push(...relay.violations.list());
      const { status, lastStep } = await requireRunView(arena.scope, run);
      if (status !== "done" || lastStep !== steps) violations.push({ guarantee: "G8", fault: "run_unfinished", detail: `${run} is ${status} at step ${lastStep} of ${steps}.` });
      arena.progress(told.size / runs);
    }
  };
  await Promise.all(Array.from({ length: inParallel }, runLoop));
  const { rows } = await readWholeLog(arena.store);
  for (const [run, handed] of told) violations.push(...checkHandover(run, runEvents(rows, run), handed));
  return { figures, violations };
}

/** One run, handed from worker to worker. */
class Relay {
  readonly handovers: Handover[] = [];
  readonly violations = new Violations("G8");
  killed = 0;
  stopped = 0;
  refused = 0;
  readonly #arena: Arena;
  readonly #run: string;
  readonly #size: Required<Pick<HandoverSize, "steps" | "ttlMs">>;
  #acknowledged = 0;
  #sent = 0;
  #finished = false;

  constructor(arena: Arena, run: string, size: Required<Pick<HandoverSize, "steps" | "ttlMs">>) {
    this.#arena = arena;
    this.#run = run;
    this.#size = size;
  }

  async run(): Promise<void> {
    let sleeper: Leg | undefined;
    for (let cut = 1; !this.#finished; cut += 1) {
      const isLast = cut > this.#size.steps;
      const leg = this.#start(isLast ? Number.POSITIVE_INFINITY : 1 + (cut % 4), cut % 3 === 0 && !isLast);
      if (sleeper !== undefined) await this.#replace(sleeper, leg);
      sleeper = undefined;
      await Promise.race([leg.cut, leg.worker.ended]);
      if (!leg.wasCut()) await leg.worker.finish();
      else if (leg.stops) {
        this.stopped += 1;
        sleeper = leg;
      } else {
        this.killed += 1;
        await leg.worker.ended;
      }
    }
    // It was stopped by a message that arrived when the run was already over.
    sleeper?.worker.proceed();
    await sleeper?.worker.finish();
  }

  /** Starts a worker that is killed or stopped after this many messages. */
  #start(lines: number, stops: boolean): Leg {
    const acknowledgedStep = this.#acknowledged;
    const claimed = openSignal<void>();
    const ended = openSignal<string>();
    const cut = openSignal<void>();
    let said = 0;
    const worker: WorkerProcess = this.#arena.start("steps", {}, (message: WorkerMessage) => {
      if (message.claimed !== undefined) {
        this.handovers.push({ by: worker.name, foundStep: asNumber(message.found), acknowledgedStep, sentStep: this.#sent });
        claimed.resolve();
      }
      if (message.sent !== undefined) this.#sent = Math.max(this.#sent, asNumber(message.sent));
      if (message.acknowledged !== undefined) this.#acknowledged = Math.max(this.#acknowledged, asNumber(message.acknowledged));
      if (message.finished === true || message.refused === "workflow_finished") this.#finished = true;
      if (message.finished === true || message.refused !== undefined) ended.resolve(String(message.refused ?? "finished"));
      said += 1;
      if (said === lines) {
        if (stops) worker.stop();
        else worker.kill();
      }
      if (said >= lines || this.#finished) cut.resolve();
    });
    worker.send({ run: this.#run, steps: this.#size.steps, ttlMs: this.#size.ttlMs });
    return { worker, stops, claimed: claimed.promise, ended: ended.promise, cut: cut.promise, wasCut: () => said >= lines };
  }

  /** The stopped worker stays stopped until its successor has the run. If it was stopped inside a transaction, it must first continue briefly to complete it. */
  async #replace(sleeper: Leg, successor: Leg): Promise<void> {
    const outcome = Promise.race([successor.claimed.then(() => "claimed"), successor.ended, successor.worker.ended]);
    while ((await Promise.race([outcome, pause(this.#size.ttlMs + lockWaitMs).then(() => "waiting")])) === "waiting") {
      sleeper.worker.proceed();
      await pause(1);
      sleeper.worker.stop();
    }
    if ((await outcome) === "claimed") return this.#wake(sleeper);
    // While it completed its transaction, it may have continued a run that no other worker had claimed yet, and finished it.
    sleeper.worker.proceed();
    await sleeper.worker.finish();
  }

  /** A replaced worker continues as if nothing had happened, and its next call must be rejected. */
  async #wake({ worker, ended }: Leg): Promise<void> {
    worker.proceed();
    const code = await whileAlive([worker], ended);
    if (code === "claim_lost" || code === "workflow_finished") this.refused += 1;
    else this.violations.add("replaced_worker_served", `${this.#run}: ${worker.name} was replaced and then got: ${code}.`);
    await worker.finish();
  }
}

/** One worker's part of a run. */
interface Leg {
  readonly worker: WorkerProcess;
  readonly stops: boolean;
  readonly claimed: Promise<void>;
  /** How the worker ended on its own: the error code, or finished. */
  readonly ended: Promise<string>;
  /** Resolves when the worker was killed or stopped, or the run is over. */
  readonly cut: Promise<void>;
  wasCut(): boolean;
}

function runEvents(rows: readonly LogRow[], run: string): readonly HandoverEvent[] {
  const holderKey = leaseKeys.holder(workflowKeys.resource(run));
  const steps = workflowKeys.steps(run);
  return rows.flatMap((row): HandoverEvent[] => {
    if (row.op !== "put") return [];
    if (row.key === holderKey) return [{ revision: row.revision, what: "claimed", by: row.writer }];
    if (row.key.startsWith(steps.start)) return [{ revision: row.revision, what: "step", by: row.writer, step: workflowKeys.stepOf(row.key) }];
    return [];
  });
}
