import { acquireLease, releaseLease, renewLease } from "../../domain/leases/leases.ts";
import { commitState, deleteState, readState, setState } from "../../domain/state/state.ts";
import { claimNextRun } from "../../domain/workflows/claims.ts";
import { requireRunView } from "../../domain/workflows/find-runs.ts";
import { checkpointRun, createRun, finishRun } from "../../domain/workflows/workflows.ts";
import { errorCodes, isHoldfastError } from "../../kernel/errors.ts";
import { fingerprint } from "../../kernel/json.ts";
import type { Scope } from "../../store/transact.ts";
import type { RunJob } from "../job.ts";
import type { Random } from "../random.ts";
import { between, pick } from "../random.ts";
import { recordedStore } from "../recorded-store.ts";

type Action = (scope: Scope, unique: string, random: Random) => Promise<unknown>;

const sharedKeys = 12;
const leases = 4;
const claimTtlMs = 40;
const groupMembers = ["group/a", "group/b", "group/c", "group/d"] as const;

/** Values of varying size: most are much smaller than a database page, some need several pages. */
const payload = (unique: string, random: Random): string => `${unique} ${"x".repeat(random() < 0.1 ? between(random, 2_000, 9_000) : between(random, 0, 60))}`;

/** One of each action that an agent can perform on the store, on things that others use too. */
const actions: readonly Action[] = [
  (scope, unique, random) => setState(scope, { key: `shared/${between(random, 1, sharedKeys)}`, value: payload(unique, random) }),
  (scope, unique, random) => setState(scope, { key: `own/${scope.writer}/${between(random, 1, 5)}`, value: payload(unique, random) }),
  (scope, unique, random) => setState(scope, { key: `brief/${between(random, 1, sharedKeys)}`, value: unique, ttlMs: between(random, 5, 60) }),
  async (scope, unique, random) => {
    const key = `counter/${between(random, 1, 3)}`;
    const before = await readState(scope, key);
    await setState(scope, { key, value: { by: unique, count: Number((before?.value as { count?: number } | undefined)?.count ?? 0) + 1 }, expectedVersion: before?.version ?? 0 });
  },
  (scope, unique) => commitState(scope, { writes: groupMembers.map((key) => ({ op: "set", key, value: unique })), expected: [], guards: [] }),
  (scope, _, random) => deleteState(scope, { key: `shared/${between(random, 1, sharedKeys)}` }),
  (scope, unique, random) => setState({ ...scope, request: { key: unique, fingerprint: fingerprint(unique) } }, { key: `keyed/${between(random, 1, sharedKeys)}`, value: unique }),
  async (scope, unique, random) => {
    const lease = { resource: `lease-${between(random, 1, leases)}`, holder: unique };
    const taken = await acquireLease(scope, { ...lease, ttlMs: between(random, 5, 50) });
    if (taken.ok && random() < 0.5) await renewLease(scope, { ...lease, ttlMs: 60, token: taken.token });
    if (taken.ok && random() < 0.5) await releaseLease(scope, { ...lease, token: taken.token });
  },
  async (scope, unique, random) => {
    if (random() < 0.4) await createRun(scope, { name: unique, runId: `run-${unique}`, tags: { kind: pick(random, ["build", "test"]) } });
    const claim = await claimNextRun(scope, { agentId: unique, ttlMs: claimTtlMs, tags: [] });
    if (!claim.ok) return;
    const { lastStep } = await requireRunView(scope, claim.runId);
    for (let step = lastStep + 1; step <= lastStep + 2; step += 1)
      await checkpointRun(scope, { runId: claim.runId, step, output: `${unique} ${step}`, agentId: unique, token: claim.token });
    if (lastStep >= 4) await finishRun(scope, { runId: claim.runId, ending: { status: "done" }, agentId: unique, token: claim.token });
  },
];

/** Works until it is killed or has performed `actions` actions, several at a time so that commits form batches. */
export const loadJob: RunJob = async ({ job, scope, say, random }) => {
  const recorded: Scope = { ...scope, store: recordedStore(scope.store, say) };
  const actionsMax = Number(job.actions ?? Number.POSITIVE_INFINITY);
  let done = 0;
  const loop = async (): Promise<void> => {
    while (done < actionsMax) {
      done += 1;
      await perform(recorded, `${job.name}-${done}`, random);
    }
  };
  await Promise.all([loop(), loop(), loop(), loop()]);
};

/** Losing a race is part of the load. Any error that a healthy store should not return ends the worker. */
async function perform(scope: Scope, unique: string, random: Random): Promise<void> {
  try {
    await pick(random, actions)(scope, unique, random);
  } catch (error) {
    if (!isHoldfastError(error) || errorCodes[error.code].http !== 409) throw error;
  }
}
