import type { Revision } from "../../store/store.ts";
import type { Violation } from "./violation.ts";
import { Violations } from "./violation.ts";

/** In revision order: a run was claimed or a step of it was recorded, and by which worker. */
export type HandoverEvent =
  | { readonly revision: Revision; readonly what: "claimed"; readonly by: string }
  | { readonly revision: Revision; readonly what: "step"; readonly by: string; readonly step: number };

/** What a claimant found when it claimed the run, and what had been acknowledged to others by then. */
export interface Handover {
  readonly by: string;
  readonly foundStep: number;
  /** The highest step acknowledged before the claim was sent. */
  readonly acknowledgedStep: number;
  /** The highest step that any worker had sent by the time the claim was answered. */
  readonly sentStep: number;
}

/** G8. A worker that takes over resumes from the last acknowledged step; a replaced worker changes nothing. */
export function checkHandover(run: string, events: readonly HandoverEvent[], handovers: readonly Handover[]): readonly Violation[] {
  const violations = new Violations("G8");
  let holder: string | undefined;
  let step = 0;
  for (const event of events) {
    if (event.what === "claimed") {
      holder = event.by;
      continue;
    }
    if (event.by !== holder)
      violations.add("replaced_worker_wrote", `${run}: ${event.by} recorded step ${event.step} at revision ${event.revision}; ${holder ?? "no worker"} held the run.`);
    if (event.step !== step + 1) violations.add("step_out_of_order", `${run}: step ${event.step} at revision ${event.revision} follows step ${step}.`);
    step = event.step;
  }
  for (const { by, foundStep, acknowledgedStep, sentStep } of handovers) {
    if (foundStep < acknowledgedStep) violations.add("acknowledged_step_lost", `${run}: ${by} resumed from step ${foundStep}; ${acknowledgedStep} had been acknowledged.`);
    if (foundStep > sentStep) violations.add("step_invented", `${run}: ${by} resumed from step ${foundStep}; no worker had sent more than ${sentStep}.`);
  }
  return violations.list();
}
