import { fingerprint } from "../../kernel/json.ts";
import { requireKey, requireTtl } from "../../store/prepare-commit.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Committed } from "../../store/store.ts";
import type { Decision, Scope } from "../../store/transact.ts";
import { transact } from "../../store/transact.ts";
import type { Tag } from "../keyspace.ts";
import { leaseKeys, workflowKeys } from "../keyspace.ts";
import { extendWrite, leaseIn, leaseRanges, takeWrites } from "../leases/lease.ts";
import type { HeldRuns } from "./held-runs.ts";
import { runWrites } from "./run-index.ts";
import type { Run } from "./workflow.ts";
import { claimed, isFinished, requireUnfinished, toRun, toTags } from "./workflow.ts";
import { historySubjectOf, requireRun, requireRunId } from "./workflows.ts";

export type ClaimResult =
  | { readonly ok: true; readonly runId: string; readonly agentId: string; readonly token: number; readonly expiresAtMs: number; readonly extended: boolean }
  | { readonly ok: false; readonly runId?: string; readonly heldBy?: string; readonly expiresAtMs?: number };

type ClaimNote = { readonly runId: string; readonly token: number | null };

interface ClaimInput {
  readonly agentId: string;
  readonly ttlMs: number;
}

/** Of any number of concurrent claims, exactly one wins. A holder that claims again keeps its claim and extends it. */
export function claimRun(scope: Scope, { runId, agentId, ttlMs }: ClaimInput & { readonly runId: string }, heldRuns?: HeldRuns): Promise<ClaimResult> {
  requireRunId(runId);
  requireClaimInput(agentId, ttlMs);
  const claiming = new Claiming(scope, agentId, ttlMs, heldRuns);
  return transact<ClaimNote, ClaimResult>(scope, {
    decide: () => claiming.decide(runId),
    finish: (note, committed) => claiming.finish(note, committed),
  });
}

/** Claims the next available run with all the tags: highest priority first, then oldest first. */
export function claimNextRun(scope: Scope, { tags, agentId, ttlMs }: ClaimInput & { readonly tags: readonly Tag[] }, heldRuns?: HeldRuns): Promise<ClaimResult> {
  requireClaimInput(agentId, ttlMs);
  const claiming = new Claiming(scope, agentId, ttlMs, heldRuns);
  return transact<ClaimNote, ClaimResult>(scope, {
    async decide(attempt) {
      await requeueLapsed(scope);
      for await (const runId of readyRuns(scope, tags, attempt === 0 ? 0 : spread(agentId, attempt))) {
        const decision = await claiming.decide(runId, tags);
        // An answer means that another worker was faster after the index was read, so try the next run.
        if (!("answer" in decision)) return decision;
      }
      return { answer: { ok: false } };
    },
    finish: (note, committed) => claiming.finish(note, committed),
  });
}

/** The token of the live claim, if this writer made the claim and no agent except its holder ever held the run; otherwise undefined. */
export async function readOnlyClaim({ store, writer }: Scope, runId: string): Promise<number | undefined> {
  const { run, claim, snapshot } = await requireRun(store, runId);
  const holder = snapshot.entries.find(({ key }) => key === leaseKeys.holder(workflowKeys.resource(runId)));
  const { live } = claim;
  return live !== undefined && holder?.writer === writer && run.formerAgents.every((agent) => agent === live.holder) ? live.token : undefined;
}

/** One caller's try to claim a run, this or that one. */
class Claiming {
  readonly #scope: Scope;
  readonly #agentId: string;
  readonly #ttlMs: number;
  readonly #heldRuns: HeldRuns | undefined;
  /** The run as the commit that was decided last writes it, if it takes the claim rather than extends it. */
  #taken: Run | undefined;

  /** A request key may bring back the answer of another process's commit, so nothing is remembered with one. */
  constructor(scope: Scope, agentId: string, ttlMs: number, heldRuns: HeldRuns | undefined) {
    this.#scope = scope;
    this.#agentId = agentId;
    this.#ttlMs = ttlMs;
    this.#heldRuns = scope.request === undefined ? heldRuns : undefined;
  }

  async decide(runId: string, tags?: readonly Tag[]): Promise<Decision<ClaimNote, ClaimResult>> {
    const [agentId, ttlMs] = [this.#agentId, this.#ttlMs];
    this.#taken = undefined;
    const { run, revision, claim, snapshot } = await requireRun(this.#scope.store, runId);
    if (tags !== undefined && (isFinished(run) || !hasTags(run, tags))) return { answer: { ok: false, runId } };
    requireUnfinished(runId, run);
    const resource = workflowKeys.resource(runId);
    const { live, last } = claim;
    if (live !== undefined && live.holder !== agentId) return { answer: { ok: false, runId, heldBy: live.holder, expiresAtMs: live.expiresAtMs } };
    const checks = [{ key: workflowKeys.run(runId), revision }];
    if (live !== undefined)
      return {
        checks: [...checks, { key: leaseKeys.holder(resource), revision: live.token }],
        writes: [extendWrite(resource, agentId, ttlMs, historySubjectOf(runId), "renew", live.expiresAtMs - snapshot.nowMs)],
        note: { runId, token: live.token },
      };
    const previous = last !== undefined && last.holder !== agentId ? last.holder : undefined;
    const after: Run = { ...claimed(run, previous, snapshot.nowMs), indexed: { zone: "claimed", lookAtMs: snapshot.nowMs + ttlMs } };
    this.#taken = after;
    return {
      checks: [...checks, { key: leaseKeys.deadline(resource), is: "absent" }],
      writes: [...runWrites(runId, run, after, "claim"), ...takeWrites(resource, { holder: agentId, ttlMs, workspace: undefined }, historySubjectOf(runId), undefined)],
      note: { runId, token: null },
    };
  }

  finish({ runId, token }: ClaimNote, { revision, writes }: Pick<Committed, "revision" | "writes">): ClaimResult {
    const [agentId, ttlMs] = [this.#agentId, this.#ttlMs];
    if (this.#taken !== undefined) this.#heldRuns?.note(runId, { run: this.#taken, revision, holder: agentId, token: revision, ttlMs });
    // The deadline is the last write on both paths.
    return { ok: true, runId, agentId, token: token ?? revision, expiresAtMs: writes.at(-1)?.expiresAtMs as number, extended: token !== null };
  }
}

const readyPage = 16;
/** The index covers one tag; the others are filtered from its pages, so the pages are larger. */
const taggedPage = 500;
const requeuePage = 64;
/** A worker that looks for a run requeues at most this many pages of lapsed runs; the next worker continues. */
const requeuePagesMax = 16;

/**
 * Workers that lost a race would collide again at the next run. After a conflict, each starts at a different position in the first page.
 * Without a conflict the order is strict.
 */
const spread = (agentId: string, attempt: number): number => Number.parseInt(fingerprint([agentId, attempt]).slice(0, 6), 16) % readyPage;

/** Ids of unclaimed runs in the order they are handed out. The first page may start at an offset and wrap around. */
async function* readyRuns({ store }: Scope, tags: readonly Tag[], startAt: number): AsyncGenerator<string> {
  const [firstTag] = tags;
  const whole = firstTag === undefined ? workflowKeys.ready.range : workflowKeys.readyTagged.range(firstTag);
  let range = whole;
  let skip = startAt;
  for (;;) {
    const { entries, more } = await store.read(range, { limit: tags.length > 1 ? taggedPage : readyPage });
    const fitting = entries.filter((entry) => hasTags({ tags: toTags(entry) }, tags));
    const begin = fitting.length === 0 ? 0 : skip % fitting.length;
    for (const entry of [...fitting.slice(begin), ...fitting.slice(0, begin)]) yield workflowKeys.idOf(entry.key);
    skip = 0;
    const last = entries.at(-1);
    if (!more || last === undefined) return;
    range = { ...whole, start: `${last.key}\0` };
  }
}

/**
 * Nothing is written when a claim lapses, so a worker that looks for a run first requeues lapsed ones.
 * A run whose claim was renewed meanwhile only gets a later check time. A lost race is harmless here: another worker has done the same.
 */
async function requeueLapsed(scope: Scope): Promise<void> {
  const { store, writer } = scope;
  for (let page = 0; page < requeuePagesMax; page += 1) {
    const { nowMs } = await store.position();
    const due = await store.read(workflowKeys.claimed.dueBy(nowMs), { limit: requeuePage, values: false });
    // In parallel, so that the commits share one disk write.
    await Promise.all(
      due.entries.map(async (entry) => {
        const runId = workflowKeys.idOf(entry.key);
        const snapshot = await store.read([keyRange(workflowKeys.run(runId)), ...leaseRanges(workflowKeys.resource(runId))]);
        const found = snapshot.entries.find((candidate) => candidate.key === workflowKeys.run(runId));
        if (found === undefined) return store.commit({ writes: [{ op: "delete", key: entry.key }], writer });
        const run = toRun(found);
        const { live } = leaseIn(snapshot, workflowKeys.resource(runId));
        const after: Run = { ...run, indexed: live === undefined ? { zone: "ready" } : { zone: "claimed", lookAtMs: live.expiresAtMs } };
        return store.commit({ checks: [{ key: found.key, revision: found.revision }], writes: runWrites(runId, run, after, undefined), writer });
      }),
    );
    if (!due.more) return;
  }
}

export const hasTags = (run: Pick<Run, "tags">, tags: readonly Tag[]): boolean => tags.every(([name, value]) => Object.hasOwn(run.tags, name) && run.tags[name] === value);

function requireClaimInput(agentId: string, ttlMs: number): void {
  requireKey(agentId, "agent_id");
  requireTtl(ttlMs, "ttl_seconds");
}
