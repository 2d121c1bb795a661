import { describe, expect, test } from "vitest";
import { beginEffect } from "../../src/domain/effects/begin-effect.ts";
import type { Resolver } from "../../src/domain/effects/effect.ts";
import { endWrites, resolvedRecord } from "../../src/domain/effects/effect.ts";
import { listEffects, readEffect, requireEffect } from "../../src/domain/effects/find-effects.ts";
import { finishEffect } from "../../src/domain/effects/finish-effect.ts";
import { effectId } from "../../src/domain/effects/identity.ts";
import { resolveEffect } from "../../src/domain/effects/resolve-effect.ts";
import { effectKeys, leaseKeys } from "../../src/domain/keyspace.ts";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import type { Json } from "../../src/kernel/json.ts";
import { keyRange } from "../../src/store/ranges.ts";
import type { Store } from "../../src/store/store.ts";
import type { Scope } from "../../src/store/transact.ts";
import type { EffectJournal } from "../support/effect-world.ts";
import { honestJournal, playEffects } from "../support/effect-world.ts";

/** Writes the end of a record whatever it says now. */
async function forceEnd(
  scope: Scope,
  id: string,
  state: "done" | "failed",
  value: Json,
  op: "finish" | "resolve",
  resolved?: Resolver,
): Promise<{ id: string; state: "done" | "failed" }> {
  const known = await requireEffect(scope, id);
  const after = { ...resolvedRecord(known, state, "caller", known.nowMs), resolved };
  await scope.store.commit({ writes: endWrites(id, after, { value, kept: true }, op), writer: scope.writer });
  return { id, state };
}

/** A scope whose store changes every commit on its way. */
const withCommit = (scope: Scope, change: (commit: Parameters<Store["commit"]>[0]) => Parameters<Store["commit"]>[0]): Scope => ({
  ...scope,
  store: { ...scope.store, commit: (commit) => scope.store.commit(change(commit)) },
});

let calls = 0;
const newKey = (): string => {
  calls += 1;
  return `attempt ${calls}`;
};

/** Each is a mistake that a journal of effects could well have; what the audit must call it. */
const defects: readonly (readonly [what: string, fault: string, journal: Partial<EffectJournal>])[] = [
  [
    "the record is written after the call",
    "G20 not_recorded_first",
    {
      async begin(scope, input) {
        const id = effectId(input.identity);
        if ((await readEffect(scope, id)) !== undefined) return beginEffect(scope, input);
        // Told to go ahead; what comes back is recorded by the report alone.
        return { outcome: "begun", id, token: 0, attempt: 1, liveUntilMs: 0 };
      },
      async finish(scope, { id, token, outcome }) {
        if (token !== 0 || outcome.state !== "done") return finishEffect(scope, { id, token, outcome });
        const late = { state: "done", tool: "pay", fingerprint: "", args: "", attempts: 1, nonce: "", keepMs: 60_000, token: 0, begunAtMs: 0, endedAtMs: 0 } as const;
        await scope.store.commit({ writes: endWrites(id, late, { value: outcome.answer, kept: true }, "finish"), writer: scope.writer });
        return { id, state: "done" };
      },
    },
  ],
  ["the key is made up anew for each attempt", "G20 performed_twice", { identify: (identity) => ({ ...identity, name: `${identity.name ?? ""} ${newKey()}` }) }],
  [
    "what is in flight is forgotten when somebody starts again",
    "G20 performed_twice",
    {
      async begin(scope, input) {
        const id = effectId(input.identity);
        if ((await readEffect(scope, id))?.state === "intended")
          await scope.store.commit({ writes: [effectKeys.record(id), effectKeys.live(id), effectKeys.open(id)].map((key) => ({ op: "delete", key })), writer: scope.writer });
        return beginEffect(scope, input);
      },
    },
  ],
  ["a stale token is accepted", "G22 begun_by_replaced_worker", { begin: (scope, { guard: _, ...input }) => beginEffect(scope, input) }],
  [
    "the token is compared, and not whether the claim is live",
    "G22 begun_under_a_lapsed_claim",
    {
      async begin(scope, { guard, ...input }) {
        if (guard === undefined) return beginEffect(scope, input);
        const [holder] = (await scope.store.read(keyRange(leaseKeys.holder(guard.resource)))).entries;
        return beginEffect(scope, holder?.revision === guard.token ? input : { ...input, guard });
      },
    },
  ],
  [
    "the arguments are not compared: somebody gets the answer to something else",
    "G20 answered_without_effect",
    { begin: (scope, input) => beginEffect(scope, { ...input, identity: { ...input.identity, args: input.identity.name === undefined ? input.identity.args : null } }) },
  ],
  [
    "another answer is stored than the one that came back",
    "G20 wrong_answer",
    { finish: (scope, { outcome, ...attempt }) => finishEffect(scope, { ...attempt, outcome: outcome.state === "done" ? { state: "done", answer: "something" } : outcome }) },
  ],
  ["what is unknown is silently done again", "G20 begun_again_without_a_word", { begin: (scope, input) => beginEffect(scope, { ...input, policy: "retry" }) }],
  [
    "what is unknown is forgotten after a time",
    "G20 performed_twice",
    {
      begin: (scope, input) =>
        beginEffect(
          withCommit(scope, (commit) => ({ ...commit, writes: commit.writes.map((write) => (write.op === "put" ? { ...write, ttlMs: write.ttlMs ?? 30 * 86_400_000 } : write)) })),
          input,
        ),
    },
  ],
  [
    "it is resolved while its owner is alive",
    "G20 resolved_while_alive",
    {
      async resolve(scope, input) {
        return (await requireEffect(scope, input.id)).liveUntilMs === undefined ? resolveEffect(scope, input) : forceEnd(scope, input.id, input.as, null, "resolve", "caller");
      },
    },
  ],
  [
    "what has ended is resolved otherwise",
    "G20 resolved_though_known",
    {
      async resolve(scope, input) {
        return (await requireEffect(scope, input.id)).record.endedAtMs === undefined ? resolveEffect(scope, input) : forceEnd(scope, input.id, input.as, null, "resolve", "caller");
      },
    },
  ],
  [
    "a late report overwrites what somebody said",
    "G20 resolution_overwritten",
    {
      finish: (scope, { id, token, outcome }) =>
        finishEffect(scope, { id, token, outcome }).catch((error: unknown) => {
          if (!isHoldfastError(error, "conflict") || outcome.state !== "done") throw error;
          return forceEnd(scope, id, "done", outcome.answer, "finish");
        }),
    },
  ],
  ["a report is acknowledged and lost", "G20 done_record_lost", { finish: async (_scope, { id, outcome }) => ({ id, state: outcome.state }) }],
  [
    "the list leaves out what is old",
    "G21 unknown_hidden",
    {
      async list(scope, query) {
        const page = await listEffects(scope, query);
        return { ...page, effects: page.effects.filter(({ begunAtMs }) => page.nowMs - begunAtMs < 30 * 86_400_000) };
      },
    },
  ],
  [
    "the list shows what is in flight as unknown",
    "G21 shown_though_known",
    {
      async list(scope) {
        const page = await listEffects(scope, { limit: 100 });
        return { ...page, effects: page.effects.filter(({ state }) => state === "unknown" || state === "intended") };
      },
    },
  ],
];

describe("the audit of effects", () => {
  test("finds nothing wrong with the journal as it is", async () => {
    expect(await playEffects(honestJournal)).toEqual([]);
  });

  test.each(defects)("catches that %s: %s", async (_, fault, defect) => {
    expect(await playEffects({ ...honestJournal, ...defect })).toContain(fault);
  });

  test("has a name of its own for most mistakes, and a defect for each name", () => {
    expect(defects.length).toBeGreaterThanOrEqual(10);
    expect(new Set(defects.map(([, fault]) => fault)).size).toBeGreaterThanOrEqual(10);
  });
});
