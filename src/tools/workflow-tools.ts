import * as z from "zod";
import type { ClaimResult } from "../domain/workflows/claims.ts";
import { claimNextRun, claimRun } from "../domain/workflows/claims.ts";
import { findRuns, requireRunView, resumeRun } from "../domain/workflows/find-runs.ts";
import type { Ending } from "../domain/workflows/workflow.ts";
import { runStatuses } from "../domain/workflows/workflow.ts";
import { checkpointRun, createRun, finishRun } from "../domain/workflows/workflows.ts";
import { invalidInput, isHoldfastError } from "../kernel/errors.ts";
import type { Json } from "../kernel/json.ts";
import { reporterOf } from "./claim-identity.ts";
import { cursor, fromCursor, listOf, toCursor } from "./cursor.ts";
import { json, key, label, pageLimit, tags, timeOrNull, token, toSeconds, toSecondsOrNull, toTtlMs, ttlSeconds } from "./fields.ts";
import { ownWorkspaceId } from "./own-workspace.ts";
import { listedRun, run, runAnswer } from "./run-answer.ts";
import { defineTool } from "./tool.ts";

export const workflowCreate = defineTool({
  name: "workflow_create",
  title: "Create a run",
  description:
    "Register a run that survives crashes. Higher priority (-1000 to 1000) is claimed first. Find it by tags; its input is returned on resume. With your own run_id, creating twice returns the first.",
  toolset: "workflow",
  effect: "write",
  input: z.strictObject({ name: key, tags: tags.optional(), input: json.optional(), run_id: key.optional(), priority: z.int().min(-1000).max(1000).optional() }),
  output: z.strictObject({ run_id: z.string(), name: z.string(), status: z.enum(runStatuses), created: z.boolean() }),
  positional: ["name"],
  async handle(context, args) {
    const workspace = await ownWorkspaceId(context);
    const result = await createRun(context, { name: args.name, tags: args.tags, input: args.input, runId: args.run_id, priority: args.priority, workspace });
    return { run_id: result.runId, name: result.name, status: result.status, created: result.created };
  },
});

const listLimit = { default: 50, max: 200 } as const;
const runsOutput = z.strictObject({ runs: z.array(run), cursor: z.string().nullable() });

export const workflowDiscover = defineTool({
  name: "workflow_discover",
  title: "Find runs",
  description: `Find runs by tags (all must match) and status, newest first; claimable:true lists runs that can be claimed now, in claim order. limit: default ${listLimit.default}.`,
  toolset: "workflow",
  effect: "read",
  input: z.strictObject({
    tags: tags.optional(),
    status: z.enum(runStatuses).optional(),
    claimable: z.boolean().optional(),
    limit: pageLimit(listLimit.max).optional(),
    cursor: cursor.optional(),
  }),
  output: runsOutput,
  positional: [],
  async handle(context, args) {
    const { limit: _, cursor: __, ...filter } = args;
    const list = listOf("runs", filter);
    const found = await findRuns(context, {
      tags: Object.entries(args.tags ?? {}),
      status: args.status,
      claimable: args.claimable ?? false,
      limit: args.limit ?? listLimit.default,
      after: args.cursor === undefined ? undefined : fromCursor(list, args.cursor),
    });
    return { runs: found.runs.map(listedRun), cursor: found.next === undefined ? null : toCursor(list, found.next) };
  },
});

export const workflowClaim = defineTool({
  name: "workflow_claim",
  title: "Claim a run",
  description:
    "Take a run; one racing agent wins. Without run_id: the next claimable one with these tags. Claiming your own again extends it; it lapses after ttl_seconds without a checkpoint. Refused: claimed:false, reason, the holder's agent_id.",
  pointers: [
    { to: ["lease_renew", "lease_release"], text: "lease_renew and lease_release on workflow/<run_id> keep it or give it back." },
    { to: ["workflow_resume"], text: "Then: workflow_resume." },
  ],
  toolset: "workflow",
  effect: "write",
  input: z.strictObject({ run_id: key.optional(), agent_id: label, ttl_seconds: ttlSeconds.optional(), tags: tags.optional() }),
  output: z.strictObject({
    claimed: z.boolean(),
    run_id: z.string().nullable(),
    agent_id: z.string().nullable(),
    token: z.int().nullable(),
    expires_at: timeOrNull,
    reason: z.enum(["held", "nothing_claimable", "not_found"]).nullable(),
  }),
  positional: ["run_id"],
  // Without run_id, any run may be claimed, so an empty id must not count as absent.
  keepsEmpty: ["run_id"],
  async handle(context, { run_id: runId, agent_id: agentId, ttl_seconds: seconds, tags: wanted }) {
    if (runId !== undefined && wanted !== undefined) throw invalidInput("tags", "allowed only without run_id");
    const ttlMs = seconds === undefined ? context.server.claimTtlMs : toTtlMs(seconds);
    let result: ClaimResult;
    try {
      result = runId === undefined ? await claimNextRun(context, { tags: Object.entries(wanted ?? {}), agentId, ttlMs }) : await claimRun(context, { runId, agentId, ttlMs });
    } catch (error) {
      // The State Sidecar returns this, and its workers check only `claimed`.
      if (context.server.profile !== "sidecar" || !isHoldfastError(error, "not_found")) throw error;
      return { claimed: false, run_id: runId ?? null, agent_id: null, token: null, expires_at: null, reason: "not_found" };
    }
    if (result.ok) context.server.claims?.note(context, result.runId, result.token);
    if (result.ok) return { claimed: true, run_id: result.runId, agent_id: result.agentId, token: result.token, expires_at: toSeconds(result.expiresAtMs), reason: null };
    return {
      claimed: false,
      run_id: result.runId ?? null,
      agent_id: result.heldBy ?? null,
      token: null,
      expires_at: toSecondsOrNull(result.expiresAtMs),
      reason: result.runId === undefined ? "nothing_claimable" : "held",
    };
  },
});

export const workflowCheckpoint = defineTool({
  name: "workflow_checkpoint",
  title: "Checkpoint a step",
  description:
    "Store a step's output and extend the claim. Repeating it changes nothing; another output replaces it. A claimed run needs its holder (agent_id, token, or the claim made on this connection), else error claim_held; claim_lost: another took over, stop.",
  toolset: "workflow",
  effect: "write-idempotent",
  input: z.strictObject({ run_id: key, step: z.int().min(0), output: json, agent_id: label.optional(), token: token.optional() }),
  output: z.strictObject({ ok: z.boolean(), run_id: z.string(), step: z.int(), last_step: z.int() }),
  positional: ["run_id", "step", "output"],
  async handle(context, args) {
    const reporter = await reporterOf(context, args.run_id, { agentId: args.agent_id, token: args.token });
    const result = await checkpointRun(context, { runId: args.run_id, step: args.step, output: args.output, ...reporter });
    return { ok: true, run_id: result.runId, step: result.step, last_step: result.lastStep };
  },
});

/** The most that one read returns: workers written for systems without a limit expect every step. */
const stepLimit = { default: 1_000, max: 1_000 } as const;

export const workflowResume = defineTool({
  name: "workflow_resume",
  title: "Resume a run",
  description: `A run's input, last_step, meta and newest step outputs (limit: default ${stepLimit.default}), or those after steps_after; omitted:true = there are more.`,
  toolset: "workflow",
  effect: "read",
  input: z.strictObject({ run_id: key, steps_after: z.int().min(0).optional(), limit: pageLimit(stepLimit.max).optional() }),
  output: z.strictObject({
    run_id: z.string(),
    last_step: z.int(),
    step_outputs: z.custom<Record<string, unknown>>((value) => typeof value === "object").meta({ type: "object" }),
    meta: run,
    input: z.unknown().optional(),
    omitted: z.boolean(),
  }),
  positional: ["run_id"],
  async handle(context, args) {
    const { view, input, steps, more } = await resumeRun(context, args.run_id, { stepsAfter: args.steps_after, limit: args.limit ?? stepLimit.default });
    return {
      run_id: view.runId,
      last_step: view.lastStep,
      step_outputs: Object.fromEntries(steps.map(({ step, output }) => [String(step), output])),
      meta: runAnswer(view),
      ...(input === undefined ? {} : { input }),
      omitted: more,
    };
  },
});

export const workflowStatus = defineTool({
  name: "workflow_status",
  title: "Show a run's status",
  description: "One run's status, last step, holder and times. lapsed_agent_id: whose claim expired.",
  pointers: [{ to: ["workflow_resume"], text: "Its outputs: workflow_resume." }],
  toolset: "workflow",
  effect: "read",
  input: z.strictObject({ run_id: key }),
  output: z.strictObject({
    run_id: z.string(),
    status: z.enum(runStatuses),
    last_step: z.int(),
    agent_id: z.string().nullable(),
    lapsed_agent_id: z.string().optional(),
    created_at: z.number(),
    updated_at: z.number(),
    claim_expires_at: timeOrNull,
  }),
  positional: ["run_id"],
  async handle(context, args) {
    const { run_id, status, last_step, agent_id, lapsed_agent_id, created_at, updated_at, claim_expires_at } = runAnswer(await requireRunView(context, args.run_id));
    return { run_id, status, last_step, agent_id, ...(lapsed_agent_id === undefined ? {} : { lapsed_agent_id }), created_at, updated_at, claim_expires_at };
  },
});

export const workflowList = defineTool({
  name: "workflow_list",
  title: "List runs",
  description: `List all runs, newest first. limit: default ${listLimit.default}.`,
  pointers: [{ to: ["workflow_discover"], text: "Filters: workflow_discover." }],
  toolset: "workflow",
  effect: "read",
  input: z.strictObject({ limit: pageLimit(listLimit.max).optional(), cursor: cursor.optional() }),
  output: runsOutput,
  positional: [],
  async handle(context, args) {
    const list = listOf("runs", {});
    const after = args.cursor === undefined ? undefined : fromCursor(list, args.cursor);
    const found = await findRuns(context, { tags: [], claimable: false, limit: args.limit ?? listLimit.default, after });
    return { runs: found.runs.map(listedRun), cursor: found.next === undefined ? null : toCursor(list, found.next) };
  },
});

export const workflowFinish = defineTool({
  name: "workflow_finish",
  title: "Finish a run",
  description:
    "End a run: done with a result, failed with an error, or cancelled. failed with retry:true: claimable again, steps kept. A claimed run needs its holder's agent_id or token, except to cancel.",
  toolset: "workflow",
  effect: "write",
  input: z.strictObject({
    run_id: key,
    status: z.enum(["done", "failed", "cancelled"]),
    result: json.optional(),
    error: json.optional(),
    retry: z.boolean().optional(),
    agent_id: label.optional(),
    token: token.optional(),
  }),
  output: z.strictObject({ ok: z.boolean(), run_id: z.string(), status: z.enum(runStatuses), attempts: z.int() }),
  positional: ["run_id", "status"],
  async handle(context, args) {
    const ending = endingOf(args);
    const given = { agentId: args.agent_id, token: args.token };
    // An operator may cancel a run without an agent id, regardless of its holder.
    const reporter = ending.status === "cancelled" ? given : await reporterOf(context, args.run_id, given);
    const done = await finishRun(context, { runId: args.run_id, ending, ...reporter });
    return { ok: true, run_id: done.runId, status: done.status, attempts: done.attempts };
  },
});

interface EndingArgs {
  readonly status: Ending["status"];
  readonly result?: Json;
  readonly error?: Json;
  readonly retry?: boolean;
}

function endingOf({ status, result, error, retry = false }: EndingArgs): Ending {
  // Null may mean an omitted argument.
  if (status !== "done" && (result ?? undefined) !== undefined) throw invalidInput("result", 'allowed only with status "done"');
  if (status === "done" && (error ?? undefined) !== undefined) throw invalidInput("error", 'allowed only with status "failed" or "cancelled"');
  if (status !== "failed" && retry) throw invalidInput("retry", 'allowed only with status "failed"');
  if (status === "done") return { status, result };
  return status === "failed" ? { status, error, retry } : { status, error };
}

export const workflowTools = [workflowCreate, workflowDiscover, workflowClaim, workflowCheckpoint, workflowResume, workflowStatus, workflowList, workflowFinish];
