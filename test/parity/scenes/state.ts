import { watchState } from "../../../src/domain/state/watch-state.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import type { Teller } from "../teller.ts";

/** Keys that sort otherwise by bytes than by UTF-16 units, by a language's rules, or by a pattern's. */
const oddKeys = ["plan/a", "plan/B", "plan/%", "plan/_", "plan/\\", "plan/é", "plan/e\u0301", "plan/\u{FF5E}", "plan/\u{1F600}", "plan/ ", "plan/\t", "Plan/a", "plan"];

/** Values that a store may bend: large and small numbers, escapes, deep and empty things. */
const oddValues = [0, -0, 1e21, 5e-324, 9_007_199_254_740_991, "\u0000\ud800 \u2028 \\u0041", [], {}, [[[]]], { "": "", "\u{1F600}": null, __proto__x: 1 }, "x".repeat(70_000)];

/** Keys set, compared, expired, deleted, listed, read in the past and waited for, by both families of names. */
export async function stateScene(teller: Teller): Promise<void> {
  const { call, clock } = teller;
  await call("state_set", { key: "plan/a", value: { steps: [1, 2] }, agent_id: "ann" });
  await call("state_set", { key: "plan/a", value: { steps: [1, 2, 3] }, expected_version: 1 });
  await call("state_set", { key: "plan/a", value: "too late", expected_version: 1, agent_id: "bob" });
  await call("state_set", { key: "plan/new", value: null, expected_version: 0 });
  await call("state_set", { key: "plan/new", value: null, expected_version: 0 });
  for (const [i, key] of oddKeys.entries()) await call("state_set", { key, value: i });
  for (const [i, value] of oddValues.entries()) {
    await call("state_set", { key: `odd/${i}`, value });
    await call("state_get", { key: `odd/${i}` });
  }
  await call("state_list", { prefix: "plan/" });
  const first = await call("state_list", { limit: 7, values: true });
  await call("state_list", { limit: 7, cursor: first.cursor });
  await call("state_list", { prefix: "plan/%" });
  for (const pattern of ["%", "plan/_", "plan/\\_", "plan/\\%", "PLAN/%", "%/a", "pl%n/\u{1F600}"]) await call("list_state", { pattern });

  // Times to live, to the millisecond and by fractions.
  await call("state_set", { key: "brief", value: 1, ttl_seconds: 1.5 });
  await call("state_set", { key: "briefer", value: 1, ttl_seconds: 0.0015 });
  clock.advance(1);
  await call("state_get", { key: "briefer" });
  clock.advance(1);
  await call("state_get", { key: "briefer" });
  clock.advance(1_497);
  await call("state_get", { key: "brief" });
  await call("state_delete", { key: "briefer" });
  clock.advance(1);
  await call("state_get", { key: "brief" });
  await call("state_set", { key: "brief", value: "again", expected_version: 0 });
  await call("state_set", { key: "brief", value: "and again", expected_version: 1 });
  await call("state_delete", { key: "brief", expected_version: 9 });
  await call("state_delete", { key: "brief" });
  await call("state_delete", { key: "brief" });
  await call("history_log", { key: "brief" });

  const committed = await call("state_commit", {
    writes: [
      { key: "pair/left", value: 1 },
      { key: "pair/right", value: 1, ttl_seconds: 60 },
      { key: "plan/new", delete: true },
      { key: "never/there", delete: true },
    ],
    expected: [
      { key: "pair/left", version: 0 },
      { key: "plan/a", version: 3 },
    ],
    agent_id: "ann",
  });
  await call("state_commit", {
    writes: [{ key: "pair/left", value: 2 }],
    expected: [
      { key: "pair/left", version: 9 },
      { key: "pair/right", version: 1 },
      { key: "absent", version: 4 },
    ],
  });
  await call("state_commit", { writes: [{ key: "never/there", delete: true }] });
  for (const revision of [1, 2, 5, committed.revision - 1, committed.revision, committed.revision + 50]) await call("state_get", { key: "plan/a", revision });
  for (const version of [1, 2, 3, 7]) await call("state_get", { key: "plan/a", version });

  await call("set_state", { key: "text", value: '{"a":[1,2,{"b":null}]}' });
  await call("set_state", { key: "text", value: "no JSON" });
  await call("set_state", { key: "text", value: "2", expected_version: 1 });
  await call("set_state", { key: "text", value: "3", expected_version: 1 });
  await call("set_state", { key: "missing", value: "3", expected_version: 5 });
  await call("set_state", { key: "text", value: "3", expected_version: 0 });
  await call("force_set_state", { key: "text", value: '"forced"' });
  await call("get_state", { key: "text" });
  await call("get_state", { key: "nowhere" });
  await call("delete_state", { key: "text" });
  await call("delete_state", { key: "text" });

  // A request sent again gives the first answer, with other arguments it is refused.
  const request = { requestKey: "request-1" };
  await call("state_set", { key: "asked", value: "once" }, request);
  await call("state_set", { key: "asked", value: "meanwhile" });
  await call("state_set", { key: "asked", value: "once" }, request);
  await call("state_set", { key: "asked", value: "other" }, request);
  await call("state_get", { key: "asked" });
  clock.advance(24 * 3_600_000);
  await call("state_set", { key: "asked", value: "other" }, request);

  await waiting(teller);
}

/** Somebody waits for a change, and somebody watches. */
async function waiting({ call, begin, note, clock, engine, namespace }: Teller): Promise<void> {
  const { version } = await call("state_set", { key: "signal", value: "red" });
  const waiter = await begin("state_get", { key: "signal", wait_for_version_above: version });
  await call("state_set", { key: "signal", value: "green" });
  await waiter.ended();
  const patient = await begin("state_get", { key: "signal", wait_for_version_above: version + 1, wait_seconds: 10 });
  clock.advance(10_000);
  await patient.ended();

  const store = openNamespaceStore(engine, namespace, systemClock);
  const stop = new AbortController();
  const seen: unknown[] = [];
  for await (const change of watchState({ store }, { prefix: "plan", after: 0 }, stop.signal)) {
    seen.push(change);
    if (change.key === "plan/new" && change.op === "delete") break;
  }
  note("watch of the keys that begin with plan", seen);
}
