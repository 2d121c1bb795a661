import { readHistory } from "../../domain/history/history.ts";
import { guard } from "../../domain/leases/lease.ts";
import { acquireLease, listLeases } from "../../domain/leases/leases.ts";
import { readSession, saveSession } from "../../domain/sessions/sessions.ts";
import { commitState, deleteState, listState, readState, setState, waitForState } from "../../domain/state/state.ts";
import { watchState } from "../../domain/state/watch-state.ts";
import { claimNextRun, claimRun } from "../../domain/workflows/claims.ts";
import { findRuns, requireRunView, resumeRun } from "../../domain/workflows/find-runs.ts";
import { releaseHold, renewHold } from "../../domain/workflows/holds.ts";
import { checkpointRun, createRun, finishRun, giveBackRun, renewClaim } from "../../domain/workflows/workflows.ts";
import { invalidInput } from "../../kernel/errors.ts";
import { requireTtl } from "../../store/prepare-commit.ts";
import { bindMemory } from "./bind-memory.ts";
import type { CallOptions } from "./call-options.ts";
import type { LibraryBase } from "./call-scope.ts";
import { pageDefault, requireWait, scopeOf } from "./call-scope.ts";
import type { Holdfast, LeaseRef, Leases, Sessions, State, Workflows } from "./holdfast.ts";

const historyDefault = 10;

/** The domain's functions under the names of the library. */
export function bindDomain(base: LibraryBase): Omit<Holdfast, "namespace" | "health" | "close" | typeof Symbol.asyncDispose> {
  return {
    state: bindState(base),
    leases: bindLeases(base),
    workflows: bindWorkflows(base),
    sessions: bindSessions(base),
    ...bindMemory(base),
    history: (query = {}) => readHistory(base.scope, { limit: historyDefault, ...query }),
  };
}

function requireAgent({ agent }: LibraryBase, options: CallOptions): string {
  const name = options.agent ?? agent;
  if (name === undefined) throw invalidInput("agent", "leases and claims need a holder; pass agent here or to openHoldfast");
  return name;
}

const guardOf = (lease: LeaseRef | undefined) => lease && guard(lease.resource, lease.token);

/** Programs without types leave options out. */
function withTtl<Options extends { readonly ttlMs: number }>(options: Options | undefined): Options {
  requireTtl(options?.ttlMs as number, "ttlMs");
  return options as Options;
}

function bindState(base: LibraryBase): State {
  return {
    async set(key, value, options = {}) {
      const { ttlMs, expectedVersion, lease } = options;
      return setState(scopeOf(base, options, "state.set", { key, value, ttlMs, expectedVersion, lease }), { key, value, ttlMs, expectedVersion, guard: guardOf(lease) });
    },
    get: async (key, past) => readState(base.scope, key, past),
    async waitFor(key, options) {
      const { versionAbove, timeoutMs, signal }: Partial<typeof options> = options ?? {};
      if (versionAbove === undefined || !Number.isSafeInteger(versionAbove) || versionAbove < 0) throw invalidInput("versionAbove", "must be a whole number from 0");
      return waitForState({ ...base.scope, signal }, key, versionAbove, requireWait(timeoutMs, "timeoutMs"));
    },
    async delete(key, options = {}) {
      const { expectedVersion, lease } = options;
      return deleteState(scopeOf(base, options, "state.delete", { key, expectedVersion, lease }), { key, expectedVersion, guard: guardOf(lease) });
    },
    list: async ({ prefix = "", limit = pageDefault, after, values = true } = {}) => listState(base.scope, { prefix, limit, after, values }),
    async commit({ writes, expected = [], leases = [] }, options = {}) {
      const guards = leases.map((lease) => guard(lease.resource, lease.token));
      return commitState(scopeOf(base, options, "state.commit", { writes, expected, leases }), { writes, expected, guards });
    },
    async *watch(what, signal) {
      // Leaving the loop must end the watch too, also when the caller gave no signal.
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
      const input = { resource, holder: requireAgent(base, options), ttlMs: options.ttlMs, waitMs };
      return acquireLease(scopeOf(base, options, "leases.acquire", input), input);
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
  /** Progress may be reported without a name while the run has no holder. */
  const reporter = (options: CallOptions & { readonly token?: number }) => ({ agentId: options.agent ?? base.agent, token: options.token });
  return {
    create: async (input, options = {}) => createRun(scopeOf(base, options, "workflows.create", input), input),
    find: async ({ tags = {}, status, claimable = false, limit = pageDefault, after } = {}) =>
      findRuns(base.scope, { tags: Object.entries(tags), status, claimable, limit, after }),
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
      const input = { runId, agentId: requireAgent(base, options), token: options.token };
      return giveBackRun(scopeOf(base, options, "workflows.giveBack", input), input);
    },
    async checkpoint(runId, step, output, options = {}) {
      const input = { runId, step, output, ...reporter(options) };
      return checkpointRun(scopeOf(base, options, "workflows.checkpoint", input), input);
    },
    resume: async (runId, { stepsAfter, limit = pageDefault } = {}) => resumeRun(base.scope, runId, { stepsAfter, limit }),
    async finish(runId, ending, options = {}) {
      const input = { runId, ending, ...reporter(options) };
      return finishRun(scopeOf(base, options, "workflows.finish", input), input);
    },
  };
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
