import * as z from "zod";
import { runStatuses } from "../domain/workflows/workflow.ts";
import type { RunView } from "../domain/workflows/workflows.ts";
import { sizeOf } from "./answer-size.ts";
import { time, timeOrNull, toSeconds, toSecondsOrNull } from "./fields.ts";

/** A run in its output form; the contract calls it `meta`. */
export const run = z.strictObject({
  run_id: z.string(),
  name: z.string(),
  status: z.enum(runStatuses),
  // Looser than the rule for new tags, so that any stored tags can be shown.
  tags: z.custom<Readonly<Record<string, string>>>((value) => typeof value === "object" && value !== null).meta({ type: "object", additionalProperties: { type: "string" } }),
  priority: z.int(),
  agent_id: z.string().nullable(),
  lapsed_agent_id: z.string().optional(),
  last_step: z.int(),
  created_at: time,
  updated_at: time,
  claim_expires_at: timeOrNull,
  token: z.int().nullable(),
  attempts: z.int(),
  result: z.unknown().optional(),
  error: z.unknown().optional(),
  omitted: z.array(z.string()).optional(),
});

/** The agent whose claim has lapsed, if no other agent has taken the run since. The run is not held, and that agent may still continue it. */
const lapsedAgent = ({ status, agentId, claimExpiresAtMs }: RunView): string | undefined =>
  claimExpiresAtMs === undefined && (status === "created" || status === "claimed" || status === "running") ? agentId : undefined;

export const runAnswer = (view: RunView) => ({
  run_id: view.runId,
  name: view.name,
  status: view.status,
  tags: view.tags,
  priority: view.priority,
  agent_id: lapsedAgent(view) === undefined ? (view.agentId ?? null) : null,
  ...(lapsedAgent(view) === undefined ? {} : { lapsed_agent_id: lapsedAgent(view) }),
  last_step: view.lastStep,
  created_at: toSeconds(view.createdAtMs),
  updated_at: toSeconds(view.updatedAtMs),
  claim_expires_at: toSecondsOrNull(view.claimExpiresAtMs),
  token: view.token ?? null,
  attempts: view.attempts,
  ...(view.result === undefined ? {} : { result: view.result }),
  ...(view.error === undefined ? {} : { error: view.error }),
});

/** The largest result or error that a listing shows. Longer ones are named in `omitted`; workflow_resume returns them. */
const listedValueBytesMax = 4_096;

export function listedRun(view: RunView) {
  const { result, error } = view;
  const omitted = Object.entries({ result, error }).flatMap(([name, value]) => (value !== undefined && sizeOf(value) > listedValueBytesMax ? [name] : []));
  if (omitted.length === 0) return runAnswer(view);
  return { ...runAnswer({ ...view, result: omitted.includes("result") ? undefined : result, error: omitted.includes("error") ? undefined : error }), omitted };
}
