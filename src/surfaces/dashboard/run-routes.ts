import * as z from "zod";
import { readRunNames } from "../../domain/history/activity-titles.ts";
import { workflowKeys } from "../../domain/keyspace.ts";
import type { LeaseOverview } from "../../domain/leases/lease-overview.ts";
import { readLeaseOverview } from "../../domain/leases/lease-overview.ts";
import { findRuns, resumeRun } from "../../domain/workflows/find-runs.ts";
import { readSteps } from "../../domain/workflows/read-steps.ts";
import { readTimeline } from "../../domain/workflows/run-timeline.ts";
import { cancelRun, returnRun, revokeLease } from "../../domain/workflows/step-in.ts";
import { runStatuses } from "../../domain/workflows/workflow.ts";
import type { RunView } from "../../domain/workflows/workflows.ts";
import { requireRunId } from "../../domain/workflows/workflows.ts";
import { invalidInput } from "../../kernel/errors.ts";
import { limits } from "../../store/limits.ts";
import type { Scope } from "../../store/transact.ts";
import { fromCursor, toCursor } from "../../tools/cursor.ts";
import { key, token } from "../../tools/fields.ts";
import type { LeaseRow, LeasesAnswer, RunDetail, RunRow, RunsPage, SteppedIn } from "./api.ts";
import type { ApiRoute } from "./api-route.ts";
import { readBody } from "./read-body.ts";
import { oneOf, pageSize, readQuery, requiredText, text, textList, wholeNumber } from "./read-query.ts";

const cursorBytesMax = 2_048;
const tagBytesMax = 256;

const runs: ApiRoute = {
  method: "GET",
  path: "/api/ns/:namespace/runs",
  needs: "read",
  async handle({ base, query }) {
    const { status, tag, q, agent, cursor, limit } = readQuery(query, {
      status: oneOf(runStatuses),
      tag: textList(16, tagBytesMax),
      q: text(limits.keyBytesMax),
      agent: text(limits.keyBytesMax),
      cursor: text(cursorBytesMax),
      limit: pageSize({ default: 50, max: 200 }),
    });
    const found = await findRuns(base, {
      tags: tag.map(toTag),
      status,
      claimable: false,
      accepts: (run) => (agent === undefined || run.agentId === agent) && (q === undefined || isCalled(run, q)),
      limit,
      scannedMax: 500,
      after: cursor === undefined ? undefined : fromCursor("runs", cursor),
    });
    const page: RunsPage = { runs: found.runs.map(toRunRow), ...(found.next === undefined ? {} : { next: toCursor("runs", found.next) }) };
    return { json: page };
  },
};

/** The name or id contains the text, ignoring case. */
const isCalled = ({ name, runId }: RunView, text: string): boolean => [name, runId].some((word) => word.toLowerCase().includes(text.toLowerCase()));

function toTag(given: string): readonly [name: string, value: string] {
  const split = given.indexOf("=");
  if (split < 1) throw invalidInput("tag", "must be NAME=VALUE");
  return [given.slice(0, split), given.slice(split + 1)];
}

export const toRunRow = (run: RunView): RunRow => ({
  runId: run.runId,
  name: run.name,
  status: run.status,
  tags: run.tags,
  ...(run.agentId === undefined ? {} : { agent: run.agentId }),
  lastStep: run.lastStep,
  attempts: run.attempts,
  createdAtMs: run.createdAtMs,
  updatedAtMs: run.updatedAtMs,
  ...(run.startedAtMs === undefined ? {} : { startedAtMs: run.startedAtMs }),
  priority: run.priority,
  ...(run.claimExpiresAtMs === undefined ? {} : { claimExpiresAtMs: run.claimExpiresAtMs }),
  ...(run.token === undefined ? {} : { token: run.token }),
});

const run: ApiRoute = {
  method: "GET",
  path: "/api/ns/:namespace/run",
  needs: "read",
  async handle({ base, query }) {
    const { id, stepsBefore } = readQuery(query, { id: requiredText(limits.keyBytesMax), stepsBefore: wholeNumber(0) });
    requireRunId(id, "id");
    const { view, input } = await resumeRun(base, id, { limit: 1 });
    const [{ steps, more }, timeline] = await Promise.all([readSteps(base, id, { limit: 200, before: stepsBefore }), readTimeline(base, view)]);
    const detail: RunDetail = {
      run: toRunRow(view),
      ...(input === undefined ? {} : { input }),
      ...(view.result === undefined ? {} : { result: view.result }),
      ...(view.error === undefined ? {} : { error: view.error }),
      steps,
      moreSteps: more,
      timeline: timeline.events,
      timelineComplete: timeline.complete,
    };
    return { json: detail };
  },
};

const leases: ApiRoute = {
  method: "GET",
  path: "/api/ns/:namespace/leases",
  needs: "read",
  async handle({ base, query }) {
    const { cursor, limit } = readQuery(query, { cursor: text(cursorBytesMax), limit: pageSize({ default: 200, max: 500 }) });
    const found = await readLeaseOverview(base, limit, cursor === undefined ? undefined : fromCursor("leases", cursor));
    const last = found.leases.at(-1);
    const names = await readRunNames(
      base,
      found.leases.flatMap(({ resource }) => workflowKeys.runOfResource(resource) ?? []),
    );
    const view: LeasesAnswer = {
      nowMs: found.nowMs,
      leases: found.leases.map((lease) => toLeaseRow(lease, names)),
      more: found.more,
      ...(found.more && last !== undefined ? { next: toCursor("leases", last.resource) } : {}),
    };
    return { json: view };
  },
};

export function toLeaseRow({ waiters, ...lease }: LeaseOverview, names: ReadonlyMap<string, string>): LeaseRow {
  const runId = workflowKeys.runOfResource(lease.resource);
  const runName = names.get(runId ?? "");
  // The page shows everything an overview knows of a lease: leaving a member out of the row does not compile.
  const shown: Pick<LeaseRow, keyof typeof lease> = lease;
  return {
    ...shown,
    waiting: waiters.length,
    ...(waiters.length === 0 ? {} : { waiters }),
    ...(runId === undefined ? {} : { runId }),
    ...(runName === undefined ? {} : { runName }),
  };
}

/** Operator actions on a lease or run that another agent holds. */
const stepIn = <Schema extends z.ZodObject>(action: string, body: Schema, perform: (scope: Scope, given: z.output<Schema>) => Promise<SteppedIn>): ApiRoute => ({
  method: "POST",
  path: `/api/ns/:namespace/${action}`,
  needs: "write",
  async handle(request) {
    readQuery(request.query, {});
    const { revision } = await perform(request.base, await readBody(request, action, body));
    const answer: SteppedIn = { revision };
    return { json: answer };
  },
});

const reasonCharactersMax = 2_000;

const actions: readonly ApiRoute[] = [
  stepIn("leases/release", z.strictObject({ resource: key, token }), revokeLease),
  stepIn("runs/return", z.strictObject({ runId: key, token }), returnRun),
  stepIn("runs/cancel", z.strictObject({ runId: key, token: token.optional(), reason: z.string().max(reasonCharactersMax).optional() }), cancelRun),
];

export const runRoutes: readonly ApiRoute[] = [runs, run, leases, ...actions];
