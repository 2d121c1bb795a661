import type { Revision } from "../../store/store.ts";
import type { Reporter, Run } from "./workflow.ts";

/** A claimed run as this process's last commit wrote it. */
export interface HeldRun {
  readonly run: Run;
  /** Of that commit, which wrote the run and the claim's deadline. */
  readonly revision: Revision;
  readonly holder: string;
  readonly token: Revision;
  /** How long each report extends the claim. */
  readonly ttlMs: number;
}

/** Reports about other runs read them first. */
const runsMax = 1_000;

/**
 * The claimed runs that this process works on, so that a worker's next report can commit without reading the run first: one round trip less per step. The commit
 * checks that neither the run nor its claim has changed since, so a write by any other caller, even a heartbeat, makes the report read.
 */
export class HeldRuns {
  readonly #byId = new Map<string, HeldRun>();

  note(runId: string, held: HeldRun): void {
    const known = this.#byId.get(runId);
    if (known !== undefined && known.revision > held.revision) return;
    this.#byId.delete(runId);
    this.#byId.set(runId, held);
    for (const oldest of this.#byId.keys()) {
      if (this.#byId.size <= runsMax) break;
      this.#byId.delete(oldest);
    }
  }

  /** The run, once, if the reporter names its claim. */
  take(runId: string, { agentId, token }: Reporter): HeldRun | undefined {
    const held = this.#byId.get(runId);
    if (held === undefined || token !== held.token || (agentId !== undefined && agentId !== held.holder)) return undefined;
    this.#byId.delete(runId);
    return held;
  }
}
