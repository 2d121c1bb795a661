import { describe, expect, test } from "vitest";
import { acquireLease } from "../../src/domain/leases/leases.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { openScope, passTime, settle } from "../support/scope.ts";
import { openTools } from "./open-tools.ts";

/** A run that "a" claimed and lost, and that "b" holds now. */
async function takenOver() {
  const tools = openTools();
  await tools.call("workflow_create", { name: "job", run_id: "r" });
  const { token: stale } = await tools.call("workflow_claim", { run_id: "r", agent_id: "a", ttl_seconds: 0.2 });
  tools.clock.advance(200);
  const { token } = await tools.call("workflow_claim", { run_id: "r", agent_id: "b" });
  return { ...tools, stale: stale as number, token: token as number };
}

describe("a replaced worker changes nothing", () => {
  const acts = ["workflow_checkpoint", "done", "failed", "retry", "cancelled", "lease_renew", "lease_release"] as const;
  const names = ["name and token", "token", "name"] as const;

  test.each(acts.flatMap((act) => names.map((by) => ({ act, by }))))("$act with its own $by", async ({ act, by }) => {
    const { call, fails, stale } = await takenOver();
    const who = { ...(by === "token" ? {} : { agent_id: "a" }), ...(by === "name" ? {} : { token: stale }) };
    if (act === "lease_renew" || act === "lease_release") {
      const hold = {
        resource_id: "workflow/r",
        holder_id: by === "token" ? "b" : "a",
        ...(act === "lease_renew" ? { ttl_seconds: 60 } : {}),
        ...(by === "name" ? {} : { token: stale }),
      };
      expect(await call(act, hold)).toMatchObject(act === "lease_renew" ? { renewed: false } : { released: false });
    } else if (act === "workflow_checkpoint") expect((await fails(act, { run_id: "r", step: 1, output: 1, ...who })).code).toBe("claim_lost");
    else {
      const status = act === "retry" ? "failed" : act;
      expect((await fails("workflow_finish", { run_id: "r", status, ...(act === "retry" ? { retry: true } : {}), ...who })).code).toBe("claim_lost");
    }
    expect(await call("workflow_status", { run_id: "r" })).toMatchObject({ status: "claimed", agent_id: "b" });
  });

  test("nor does a caller that never held the run and gives a name", async () => {
    const { fails } = await takenOver();
    expect((await fails("workflow_finish", { run_id: "r", status: "cancelled", agent_id: "c" })).code).toBe("claim_held");
  });

  test("cancelling without a name stops a run of any holder; its holder may cancel by name", async () => {
    const first = await takenOver();
    expect(await first.call("workflow_finish", { run_id: "r", status: "cancelled" })).toMatchObject({ ok: true, status: "cancelled" });
    const second = await takenOver();
    expect(await second.call("workflow_finish", { run_id: "r", status: "cancelled", agent_id: "b", token: second.token })).toMatchObject({ ok: true, status: "cancelled" });
  });
});

describe("finishing a run again", () => {
  test.each([{ status: "done", result: { rows: [1, 2] } }, { status: "failed", error: "disk" }, { status: "cancelled" }])(
    "as before ($status) gives the first answer and changes nothing",
    async (ending) => {
      const { call, outcome, token } = await takenOver();
      const args = { run_id: "r", agent_id: "b", token, ...ending };
      const first = await call("workflow_finish", args);
      const before = await call("history_log", { n: 200 });
      expect(await call("workflow_finish", args)).toEqual(first);
      expect(await call("history_log", { n: 200 })).toEqual(before);
      for (const other of [
        { ...args, agent_id: "a" },
        { ...args, token: token + 1 },
        { run_id: "r", status: "done", result: "another" },
      ])
        expect(await outcome("workflow_finish", other)).toMatchObject({ ok: false, error: { code: "workflow_finished" } });
    },
  );
});

describe("a claim that lapsed", () => {
  test("has no holder: the run names the last one, until another takes it", async () => {
    const { call, clock } = openTools();
    await call("workflow_create", { name: "job", run_id: "r" });
    await call("workflow_claim", { run_id: "r", agent_id: "a", ttl_seconds: 5 });
    expect(await call("workflow_status", { run_id: "r" })).not.toHaveProperty("lapsed_agent_id");
    clock.advance(5_000);
    expect(await call("workflow_status", { run_id: "r" })).toMatchObject({ status: "created", agent_id: null, lapsed_agent_id: "a", claim_expires_at: null });
    expect((await call("workflow_list")).runs).toMatchObject([{ agent_id: null, lapsed_agent_id: "a" }]);
    await call("workflow_checkpoint", { run_id: "r", step: 1, output: 1, agent_id: "a" });
    clock.advance(5_000);
    expect(await call("workflow_status", { run_id: "r" })).toMatchObject({ status: "running", agent_id: null, lapsed_agent_id: "a" });
    await call("workflow_claim", { run_id: "r", agent_id: "b" });
    expect(await call("workflow_status", { run_id: "r" })).toMatchObject({ agent_id: "b" });
    await call("workflow_finish", { run_id: "r", status: "done", agent_id: "b" });
    const ended = await call("workflow_status", { run_id: "r" });
    expect(ended).toMatchObject({ status: "done", agent_id: "b" });
    expect(ended).not.toHaveProperty("lapsed_agent_id");
  });
});

describe("asking again never shortens", () => {
  test("lease_acquire and workflow_claim by the holder, for less than is left", async () => {
    const { call } = openTools();
    const lease = { resource_id: "db", holder_id: "a" };
    const { expires_at } = await call("lease_acquire", { ...lease, ttl_seconds: 600 });
    expect(await call("lease_acquire", { ...lease, ttl_seconds: 1 })).toMatchObject({ acquired: true, expires_at });
    expect(await call("lease_acquire", { ...lease, ttl_seconds: 700 })).toMatchObject({ expires_at: expires_at + 100 });

    await call("workflow_create", { name: "job", run_id: "r" });
    const claim = await call("workflow_claim", { run_id: "r", agent_id: "a", ttl_seconds: 600 });
    expect(await call("workflow_claim", { run_id: "r", agent_id: "a", ttl_seconds: 1 })).toMatchObject({ claimed: true, expires_at: claim.expires_at, token: claim.token });
  });

  test("after a short lease_renew a checkpoint extends the claim by its own time again", async () => {
    const { call, clock } = openTools();
    await call("workflow_create", { name: "job", run_id: "r" });
    await call("workflow_claim", { run_id: "r", agent_id: "a", ttl_seconds: 900 });
    await call("lease_renew", { resource_id: "workflow/r", holder_id: "a", ttl_seconds: 5 });
    await call("workflow_checkpoint", { run_id: "r", step: 1, output: 1, agent_id: "a" });
    expect((await call("workflow_status", { run_id: "r" })).claim_expires_at).toBe(clock.nowMs() / 1000 + 900);
  });
});

describe("waiting for a newer version", () => {
  test("ends at once when the key is deleted or expires", async () => {
    for (const end of ["delete", "expire"] as const) {
      const { call, clock } = openTools();
      await call("state_set", { key: "k", value: 1, ...(end === "expire" ? { ttl_seconds: 3 } : {}) });
      let answer: unknown;
      const waiting = call("state_get", { key: "k", wait_for_version_above: 1, wait_seconds: 30 }).then((given) => {
        answer = given;
      });
      await settle();
      expect(answer).toBeUndefined();
      if (end === "delete") await call("state_delete", { key: "k" });
      else clock.advance(3_000);
      await settle();
      expect(answer, end).toMatchObject({ found: false, version: 0 });
      await waiting;
    }
  });

  test("for a key that was gone before continues until it is there again", async () => {
    const { call } = openTools();
    await call("state_set", { key: "k", value: 1 });
    await call("state_delete", { key: "k" });
    const waiting = call("state_get", { key: "k", wait_for_version_above: 1, wait_seconds: 30 });
    await settle();
    await call("state_set", { key: "k", value: 2 });
    expect(await waiting).toMatchObject({ found: true, value: 2, version: 2 });
  });
});

test("a waiter that joins while the first one takes the lease is not overtaken by newcomers", async () => {
  const scope = openScope();
  const { engine, clock } = scope;
  const other = openNamespaceStore(engine, "test", clock);
  const lease = (holder: string, waitMs = 0) => acquireLease({ ...scope, writer: holder }, { resource: "db", holder, ttlMs: 60_000, waitMs });
  await lease("a");
  const first = lease("b", 120_000);
  await settle();
  // Between b's look at the line and its commit, c joins.
  let second: ReturnType<typeof lease> | undefined;
  const commit = engine.commit.bind(engine);
  engine.commit = async (namespace, batch) => {
    const takes = batch.some(({ writes }) => writes.some((write) => write.op === "put" && write.key === "lease/holder/db"));
    if (takes && second === undefined) {
      engine.commit = commit;
      second = acquireLease({ ...scope, store: other, writer: "c" }, { resource: "db", holder: "c", ttlMs: 60_000, waitMs: 200_000 });
      await settle();
    }
    return commit(namespace, batch);
  };
  await passTime(clock, 60_000);
  expect(await first).toMatchObject({ ok: true, holder: "b" });
  const { entries } = await scope.store.read({ start: "lease/waiting/", end: "lease/waiting0" });
  expect(entries, "the sign that somebody waits").toHaveLength(1);
  await passTime(clock, 61_000);
  expect(await second).toMatchObject({ ok: true, holder: "c" });
});
