import { readHistory } from "../../domain/history/history.ts";
import { guard } from "../../domain/leases/lease.ts";
import { acquireLease, listLeases } from "../../domain/leases/leases.ts";
import { readSession, saveSession } from "../../domain/sessions/sessions.ts";
import { commitState, deleteState, listState, readState, setState, waitForState } from "../../domain/state/state.ts";
import { watchState } from "../../domain/state/watch-state.ts";
import { claimNextRun, claimRun } from "../../domain/workflows/claims.ts";
import { findRuns, requireRunView, resumeRun } from "../../domain/workflows/find-runs.ts";
import { releaseHold, renewHold } from "../../domain/workflows/holds.ts";
import { wakeRun } from "../../domain/workflows/wake-run.ts";
import { checkpointRun, createRun, finishRun, giveBackRun, renewClaim } from "../../domain/workflows/workflows.ts";
import { invalidInput } from "../../kernel/errors.ts";
import { requireTtl } from "../../store/prepare-commit.ts";
import { bindBlobs } from "./bind-blobs.ts";
import { bindEffects } from "./bind-effects.ts";
import { bindMemory } from "./bind-memory.ts";
import type { CallOptions } from "./call-options.ts";
import type { LibraryBase } from "./call-scope.ts";
import { pageDefault, scopeOf } from "./call-scope.ts";
import type { Holdfast, LeaseRef, Leases, Sessions, State, Workflows } from "./holdfast.ts";
import { requireVersionAbove, requireWait } from "./require-wait.ts";

const historyDefault = 10;

/** Binds the domain's functions to the library's method names. */
export function bindDomain(base: LibraryBase): Omit<Holdfast, "namespace" | "health" | "close" | typeof Symbol.asyncDispose> {
  return {
    state: bindState(base),
    blobs: bindBlobs(base),
    leases: bindLeases(base),
    workflows: bindWorkflows(base),
    sessions: bindSessions(base),
    effects: bindEffects(base),
    ...bindMemory(base),
    history: (query = {}) => readHistory(base.scope, { limit: historyDefault, ...query }),
  };
}

function requireAgent({ agent }: LibraryBase, options: CallOptions): string {
  const name = options.agent ?? agent;
  if (name === undefined) throw invalidInput("agent", "leases and claims need a holder; pass agent here or when you open Holdfast");
  return name;
}

const guardOf = (lease: LeaseRef | undefined) => lease && guard(lease.resource, lease.token);

/** Checks at run time, because JavaScript callers may omit the options. */
function withTtl<Options extends { readonly ttlMs: number }>(options: Options | undefined): Options {
  requireTtl(options?.ttlMs as number, "ttlMs");
  return options as Options;
}

function bindState(base: LibraryBase): State {
  return {
    async set(key, value, options = {}) {
      const { ttlMs, expectedVersion, lease, blobs } = options;
      const scope = scopeOf(base, options, "state.set", { key, value, ttlMs, expectedVersion, lease, blobs });
      return setState(scope, { key, value, ttlMs, expectedVersion, guard: guardOf(lease), blobs });
    },
    get: async (key, past) => readState(base.scope, key, past),
    async waitFor(key, options) {
      const { versionAbove, timeoutMs, wasThere, signal }: Partial<typeof options> = options ?? {};
      const { entry } = await waitForState({ ...base.scope, signal }, key, requireVersionAbove(versionAbove), requireWait(timeoutMs, "timeoutMs"), wasThere);
      return entry;
    },
    async delete(key, options = {}) {
      const { expectedVersion, lease } = options;
      return deleteState(scopeOf(base, options, "state.delete", { key, expectedVersion, lease }), { key, expectedVersion, guard: guardOf(lease) });
    },
    list: async ({ prefix = "", limit = pageDefault, after, values = true } = {}) => listState(base.scope, { prefix, limit, after, values, charactersMax: base.listCharactersMax }),
    async commit({ writes, expected = [], leases = [] }, options = {}) {
      const guards = leases.map((lease) => guard(lease.resource, lease.token));
      return commitState(scopeOf(base, options, "state.commit", { writes, expected, leases }), { writes, expected, guards });
    },
    async *watch(what, signal) {
      // Leaving the loop must end the watch too, even if the caller passed no signal.
      const left = new AbortController();
      // The caller waits in this loop, which must keep the process alive even if the store is quiet.
      const alive = setInterval(() => {}, 2 ** 30);
      try {
        yield* watchState(base.scope, what, signal === undefined ? left.signal : AbortSignal.any([signal, left.signal]));
      } finally {
        left.abort();
        clearInterval(alive);
      }
    },
  };
}

function bindLeases(base: LibraryBase): Leases {
  return {
    async acquire(resource, given) {
      const options = withTtl(given);
      const waitMs = options.waitMs === undefined ? undefined : requireWait(options.waitMs, "waitMs");
      const input = { resource, holder: requireAgent(base, options), ttlMs: options.ttlMs };
      // `waitMs` is not part of the request's fingerprint: one wait over HTTP consists of several requests with different waits.
      return acquireLease(scopeOf(base, options, "leases.acquire", input), { ...input, waitMs });
    },
    async renew(resource, given) {
      const options = withTtl(given);
      const input = { resource, holder: requireAgent(base, options), ttlMs: options.ttlMs, token: options.token };
      return renewHold(scopeOf(base, options, "leases.renew", input), input);
    },
    async release(resource, options = {}) {
      const input = { resource, holder: requireAgent(base, options), token: options.token };
      return releaseHold(scopeOf(base, options, "leases.release", input), input);
    },
    list: async ({ limit = pageDefault, after } = {}) => listLeases(base.scope, { limit, after }),
  };
}

function bindWorkflows(base: LibraryBase): Workflows {
  /** The agent is optional, because progress on an unclaimed run may be reported anonymously. */
  const reporter = (options: CallOptions & { readonly token?: number }) => ({ agentId: options.agent ?? base.agent, token: options.token });
  return {
    create: async (input, options = {}) => createRun(scopeOf(base, options, "workflows.create", input), input),
    async find({ tags = {}, status, claimable = false, limit = pageDefault, after } = {}) {
      const query = { tags: Object.entries(tags), status, claimable, after };
      const found = await findRuns(base.scope, { ...query, limit });
      const fitting = countWithin(found.runs, base.listCharactersMax);
      // If the results are long, a shorter page is read, so that the next page begins after the last run of this one.
      return fitting === found.runs.length ? found : findRuns(base.scope, { ...query, limit: fitting });
    },
    get: async (runId) => requireRunView(base.scope, runId),
    async claim(what, options = {}) {
      const agentId = requireAgent(base, options);
      const ttlMs = options.ttlMs ?? base.claimTtlMs;
      const scope = scopeOf(base, options, "workflows.claim", { what, agentId, ttlMs });
      return "runId" in what ? claimRun(scope, { runId: what.runId, agentId, ttlMs }) : claimNextRun(scope, { tags: Object.entries(what.tags ?? {}), agentId, ttlMs });
    },
    async renew(runId, options = {}) {
      const input = { runId, agentId: requireAgent(base, options), token: options.token, ttlMs: options.ttlMs ?? base.claimTtlMs };
      return renewClaim(scopeOf(base, options, "workflows.renew", input), input);
    },
    async giveBack(runId, options = {}) {
      const claimableAfterMs = options.claimableAfterMs === undefined ? undefined : requireWait(options.claimableAfterMs, "claimableAfterMs");
      const input = { runId, agentId: requireAgent(base, options), token: options.token, claimableAfterMs };
      return giveBackRun(scopeOf(base, options, "workflows.giveBack", input), input);
    },
    wake: async (runId, options = {}) => wakeRun(scopeOf(base, options, "workflows.wake", { runId }), runId),
    async checkpoint(runId, step, output, options = {}) {
      const input = { runId, step, output, ...reporter(options) };
      return checkpointRun(scopeOf(base, options, "workflows.checkpoint", input), input);
    },
    resume: async (runId, { stepsAfter, limit = pageDefault } = {}) => resumeRun(base.scope, runId, { stepsAfter, limit }),
    async finish(runId, ending, options = {}) {
      // Cancelling needs no claim, so the default name of this program must not be checked against the holder.
      const isCancelled = ending?.status === "cancelled";
      const input = { runId, ending, ...(isCancelled ? { agentId: options.agent, token: options.token } : reporter(options)) };
      return finishRun(scopeOf(base, options, "workflows.finish", input), input);
    },
  };
}

/** How many items from the start fit into `charactersMax` as JSON; at least one. */
function countWithin(items: readonly unknown[], charactersMax = Number.POSITIVE_INFINITY): number {
  let left = charactersMax;
  const over = items.findIndex((item) => {
    left -= JSON.stringify(item).length;
    return left < 0;
  });
  return over < 0 ? items.length : Math.max(1, over);
}

function bindSessions(base: LibraryBase): Sessions {
  return {
    async save(sessionId, context, options = {}) {
      const input = { sessionId, context, ttlMs: options.ttlMs, expectedVersion: options.expectedVersion };
      return saveSession(scopeOf(base, options, "sessions.save", input), input);
    },
    restore: async (sessionId, { version } = {}) => readSession(base.scope, sessionId, version),
  };
}
