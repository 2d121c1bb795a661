import { describe, expect, test } from "vitest";
import { openTools, startSeconds } from "./open-tools.ts";

describe("workflow_create", () => {
  test("gives a generated id and the status created", async () => {
    const { call } = openTools();
    expect(await call("workflow_create", { name: "nightly" })).toEqual({ run_id: expect.stringMatching(/^wf-[0-9a-f]{12}$/), name: "nightly", status: "created", created: true });
  });

  test("creating twice under one's own id returns the first run", async () => {
    const { call } = openTools();
    await call("workflow_create", { name: "first", run_id: "release-1" });
    expect(await call("workflow_create", { name: "second", run_id: "release-1" })).toEqual({ run_id: "release-1", name: "first", status: "created", created: false });
    expect((await call("workflow_list")).runs).toHaveLength(1);
  });

  test("input and tags come back untouched, members named __proto__ included", async () => {
    const { call } = openTools();
    const input = JSON.parse('{"__proto__":{"x":1},"list":[1]}');
    const tags = JSON.parse('{"__proto__":"odd","team":"build"}');
    await call("workflow_create", { name: "w", run_id: "r", input, tags });
    const resumed = await call("workflow_resume", { run_id: "r" });
    expect(JSON.stringify(resumed.input)).toBe(JSON.stringify(input));
    expect(JSON.stringify(resumed.meta.tags)).toBe(JSON.stringify(tags));
    expect((await call("workflow_discover", { tags })).runs).toHaveLength(1);
  });
});

describe("workflow_claim", () => {
  test("exactly one of many racing agents wins; the others learn who holds the run", async () => {
    const { call } = openTools();
    const { run_id } = await call("workflow_create", { name: "w" });
    const answers = await Promise.all(Array.from({ length: 16 }, (_, i) => call("workflow_claim", { run_id, agent_id: `agent-${i}` })));
    const winners = answers.filter(({ claimed }) => claimed);
    expect(winners).toEqual([{ claimed: true, run_id, agent_id: expect.any(String), token: expect.any(Number), expires_at: startSeconds + 900, reason: null }]);
    for (const loser of answers.filter(({ claimed }) => !claimed))
      expect(loser).toEqual({ claimed: false, run_id, agent_id: winners[0].agent_id, token: null, expires_at: startSeconds + 900, reason: "held" });
  });

  test("the same agent claiming again gets its own claim back, extended, with the same token", async () => {
    const { call, clock } = openTools();
    const { run_id } = await call("workflow_create", { name: "w" });
    const first = await call("workflow_claim", { run_id, agent_id: "ada", ttl_seconds: 10 });
    clock.advance(5_000);
    expect(await call("workflow_claim", { run_id, agent_id: "ada", ttl_seconds: 10 })).toEqual({ ...first, expires_at: startSeconds + 15 });
  });

  test("without run_id it takes the highest priority, then the oldest, carrying all the tags", async () => {
    const { call, clock } = openTools();
    for (const [run_id, priority, tags] of [
      ["old", 0, { team: "build" }],
      ["young", 0, { team: "build" }],
      ["urgent", 5, { team: "build", os: "linux" }],
      ["elsewhere", 9, { team: "docs" }],
    ] as const) {
      await call("workflow_create", { name: "w", run_id, priority, tags });
      clock.advance(1);
    }
    const next = async (tags?: Record<string, string>) => (await call("workflow_claim", { agent_id: "ada", ...(tags && { tags }) })).run_id;
    expect(await next({ team: "build", os: "linux" })).toBe("urgent");
    expect(await next({ team: "build" })).toBe("old");
    expect(await next()).toBe("elsewhere");
    expect(await next()).toBe("young");
    expect(await call("workflow_claim", { agent_id: "ada" })).toEqual({ claimed: false, run_id: null, agent_id: null, token: null, expires_at: null, reason: "nothing_claimable" });
  });

  test("a lapsed claim lets another agent take over from the last step; the replaced one gets claim_lost and changes nothing", async () => {
    const { call, fails, clock } = openTools();
    const { run_id } = await call("workflow_create", { name: "w" });
    const first = await call("workflow_claim", { run_id, agent_id: "ada", ttl_seconds: 10 });
    await call("workflow_checkpoint", { run_id, step: 1, output: "one", agent_id: "ada" });
    clock.advance(10_000);
    expect((await call("workflow_discover", { claimable: true })).runs.map((run: { run_id: string }) => run.run_id)).toEqual([run_id]);
    const second = await call("workflow_claim", { run_id, agent_id: "bob" });
    expect(second.claimed).toBe(true);
    expect(second.token).toBeGreaterThan(first.token);
    for (const who of [{ agent_id: "ada" }, { token: first.token }])
      expect(await fails("workflow_checkpoint", { run_id, step: 2, output: "stale", ...who })).toMatchObject({ code: "claim_lost", message: expect.stringContaining("bob") });
    expect(await call("workflow_resume", { run_id })).toMatchObject({ last_step: 1, step_outputs: { "1": "one" }, meta: { agent_id: "bob", attempts: 2 } });
  });

  test("a holder whose claim lapsed but was not taken may continue", async () => {
    const { call, clock } = openTools();
    const { run_id } = await call("workflow_create", { name: "w" });
    await call("workflow_claim", { run_id, agent_id: "ada", ttl_seconds: 10 });
    clock.advance(60_000);
    expect((await call("workflow_checkpoint", { run_id, step: 1, output: 1, agent_id: "ada" })).ok).toBe(true);
    expect((await call("workflow_status", { run_id })).claim_expires_at).toBe(startSeconds + 70);
  });

  test("run_id together with tags is wrong input", async () => {
    const { fails } = openTools();
    expect(await fails("workflow_claim", { run_id: "r", agent_id: "ada", tags: { a: "b" } })).toMatchObject({ code: "invalid_input", details: { field: "tags" } });
  });
});

describe("a claim is a lease on workflow/<run_id>", () => {
  test("lease_renew is its heartbeat and lease_release gives the run back, steps kept", async () => {
    const { call, clock } = openTools();
    const { run_id } = await call("workflow_create", { name: "w" });
    const { token } = await call("workflow_claim", { run_id, agent_id: "ada", ttl_seconds: 10 });
    await call("workflow_checkpoint", { run_id, step: 3, output: "x", token });
    const resource_id = `workflow/${run_id}`;
    clock.advance(5_000);
    expect(await call("lease_renew", { resource_id, holder_id: "ada", ttl_seconds: 60 })).toEqual({
      renewed: true,
      resource_id,
      expires_at: startSeconds + 65,
      token,
      holder: "ada",
    });
    expect(await call("lease_renew", { resource_id, holder_id: "bob", ttl_seconds: 60 })).toEqual({ renewed: false, resource_id, expires_at: null, token: null, holder: "ada" });
    expect(await call("lease_release", { resource_id, holder_id: "ada", token: token + 1 })).toEqual({ released: false, resource_id });
    expect(await call("lease_release", { resource_id, holder_id: "ada", token })).toEqual({ released: true, resource_id });
    expect(await call("workflow_claim", { agent_id: "bob" })).toMatchObject({ claimed: true, run_id });
    expect((await call("workflow_resume", { run_id })).step_outputs).toEqual({ "3": "x" });
  });

  test("it cannot be acquired around workflow_claim", async () => {
    const { call, fails } = openTools();
    const { run_id } = await call("workflow_create", { name: "w" });
    expect(await fails("lease_acquire", { resource_id: `workflow/${run_id}`, holder_id: "ada", ttl_seconds: 5 })).toMatchObject({
      code: "invalid_input",
      hint: "Use workflow_claim.",
    });
  });
});

describe("workflow_checkpoint", () => {
  test("an unclaimed run takes steps from callers without a claim and stays claimable", async () => {
    const { call } = openTools();
    const { run_id } = await call("workflow_create", { name: "w" });
    expect(await call("workflow_checkpoint", { run_id, step: 0, output: null })).toEqual({ ok: true, run_id, step: 0, last_step: 0 });
    expect(await call("workflow_checkpoint", { run_id, step: 2, output: { a: 1 } })).toEqual({ ok: true, run_id, step: 2, last_step: 2 });
    expect((await call("workflow_discover", { claimable: true })).runs).toHaveLength(1);
    expect((await call("workflow_status", { run_id })).status).toBe("running");
  });

  test("last_step never falls; the same output is a no-op; another one replaces it and history keeps both", async () => {
    const { call } = openTools();
    const { run_id } = await call("workflow_create", { name: "w" });
    await call("workflow_checkpoint", { run_id, step: 5, output: "five" });
    expect((await call("workflow_checkpoint", { run_id, step: 1, output: "one" })).last_step).toBe(5);
    const checkpoints = async () => (await call("history_log", { key: run_id, kind: "workflow", n: 50 })).entries.filter((entry: { op: string }) => entry.op === "checkpoint");
    expect(await checkpoints()).toHaveLength(2);
    await call("workflow_checkpoint", { run_id, step: 1, output: "one" });
    expect(await checkpoints()).toHaveLength(2);
    await call("workflow_checkpoint", { run_id, step: 1, output: "uno" });
    expect((await checkpoints())[0]).toMatchObject({ new_value: "uno", previous_value: "one" });
    expect((await call("workflow_resume", { run_id })).step_outputs).toEqual({ "1": "uno", "5": "five" });
  });

  test("with a live claim it must come from the holder", async () => {
    const { call, fails } = openTools();
    const { run_id } = await call("workflow_create", { name: "w" });
    const { token } = await call("workflow_claim", { run_id, agent_id: "ada" });
    for (const who of [{}, { agent_id: "eve" }])
      expect(await fails("workflow_checkpoint", { run_id, step: 1, output: 1, ...who })).toMatchObject({ code: "claim_held", details: { agent_id: "ada" } });
    expect((await call("workflow_checkpoint", { run_id, step: 1, output: 1, token })).ok).toBe(true);
  });

  test("it extends the claim", async () => {
    const { call, clock } = openTools();
    const { run_id } = await call("workflow_create", { name: "w" });
    await call("workflow_claim", { run_id, agent_id: "ada", ttl_seconds: 10 });
    clock.advance(9_000);
    await call("workflow_checkpoint", { run_id, step: 1, output: 1, agent_id: "ada" });
    expect((await call("workflow_status", { run_id })).claim_expires_at).toBe(startSeconds + 19);
  });
});

describe("workflow_finish", () => {
  test("done keeps the result; the run takes no more claims or steps", async () => {
    const { call, fails } = openTools();
    const { run_id } = await call("workflow_create", { name: "w" });
    await call("workflow_claim", { run_id, agent_id: "ada" });
    expect(await call("workflow_finish", { run_id, status: "done", result: { built: 3 }, agent_id: "ada" })).toEqual({ ok: true, run_id, status: "done", attempts: 1 });
    expect((await call("workflow_resume", { run_id })).meta).toMatchObject({ status: "done", result: { built: 3 } });
    expect(await fails("workflow_checkpoint", { run_id, step: 1, output: 1 })).toMatchObject({ code: "workflow_finished" });
    expect(await fails("workflow_claim", { run_id, agent_id: "bob" })).toMatchObject({ code: "workflow_finished" });
    expect((await call("workflow_claim", { agent_id: "bob" })).claimed).toBe(false);
  });

  test.each([{ status: "done" }, { status: "failed" }, { status: "cancelled" }])("%j needs no result and no error", async (ending) => {
    const { call } = openTools();
    const { run_id } = await call("workflow_create", { name: "w" });
    expect(await call("workflow_finish", { run_id, ...ending })).toMatchObject({ ok: true, ...ending });
  });

  test("failed with retry makes the run claimable again, steps kept, attempts counted", async () => {
    const { call } = openTools();
    const { run_id } = await call("workflow_create", { name: "w" });
    await call("workflow_claim", { run_id, agent_id: "ada" });
    await call("workflow_checkpoint", { run_id, step: 1, output: "x", agent_id: "ada" });
    expect(await call("workflow_finish", { run_id, status: "failed", error: "no disk", retry: true, agent_id: "ada" })).toMatchObject({ ok: true, status: "created", attempts: 1 });
    expect(await call("workflow_claim", { agent_id: "bob" })).toMatchObject({ claimed: true, run_id });
    expect(await call("workflow_resume", { run_id })).toMatchObject({ step_outputs: { "1": "x" }, meta: { attempts: 2, error: "no disk" } });
  });

  test("only the holder may finish a claimed run, but anyone may cancel it", async () => {
    const { call, fails } = openTools();
    const { run_id } = await call("workflow_create", { name: "w" });
    await call("workflow_claim", { run_id, agent_id: "ada" });
    expect(await fails("workflow_finish", { run_id, status: "done" })).toMatchObject({ code: "claim_held" });
    expect(await call("workflow_finish", { run_id, status: "cancelled", error: "not needed" })).toMatchObject({ ok: true, status: "cancelled" });
    expect(await fails("workflow_checkpoint", { run_id, step: 1, output: 1, agent_id: "ada" })).toMatchObject({ code: "workflow_finished" });
  });

  test.each([
    [{ status: "failed", result: 1 }, "result"],
    [{ status: "done", error: 1 }, "error"],
    [{ status: "cancelled", retry: true }, "retry"],
    [{ status: "paused" }, "status"],
  ])("%j is wrong input naming %s", async (ending, field) => {
    const { call, fails } = openTools();
    const { run_id } = await call("workflow_create", { name: "w" });
    expect(await fails("workflow_finish", { run_id, ...ending })).toMatchObject({ code: "invalid_input", details: { field } });
  });
});

describe("reading runs", () => {
  test("meta has every promised key", async () => {
    const { call } = openTools();
    await call("workflow_create", { name: "w", run_id: "r", tags: { a: "b" }, priority: 2 });
    const meta = {
      run_id: "r",
      name: "w",
      status: "created",
      tags: { a: "b" },
      priority: 2,
      agent_id: null,
      last_step: 0,
      created_at: startSeconds,
      updated_at: startSeconds,
      claim_expires_at: null,
      token: null,
      attempts: 0,
    };
    expect((await call("workflow_list")).runs).toEqual([meta]);
    expect((await call("workflow_resume", { run_id: "r" })).meta).toEqual(meta);
    expect(await call("workflow_status", { run_id: "r" })).toEqual({
      run_id: "r",
      status: "created",
      last_step: 0,
      agent_id: null,
      created_at: startSeconds,
      updated_at: startSeconds,
      claim_expires_at: null,
    });
  });

  test.each(["workflow_resume", "workflow_status"])("%s of an unknown run is the error not_found", async (name) => {
    const { fails } = openTools();
    expect(await fails(name, { run_id: "wf-000000000000" })).toMatchObject({ code: "not_found" });
    expect(await fails("workflow_checkpoint", { run_id: "wf-0", step: 1, output: 1 })).toMatchObject({ code: "not_found" });
    expect(await fails("workflow_claim", { run_id: "wf-0", agent_id: "a" })).toMatchObject({ code: "not_found" });
    expect(await fails("workflow_finish", { run_id: "wf-0", status: "done" })).toMatchObject({ code: "not_found" });
  });

  test("discover filters by all tags and by status, newest first, in pages", async () => {
    const { call, clock } = openTools();
    for (let i = 0; i < 30; i += 1) {
      await call("workflow_create", { name: "w", run_id: `r${i}`, tags: { parity: i % 2 === 0 ? "even" : "odd", all: "yes" } });
      clock.advance(1);
    }
    await call("workflow_finish", { run_id: "r4", status: "done" });
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: { runs: { run_id: string }[]; cursor: string | null } = await call("workflow_discover", {
        tags: { parity: "even", all: "yes" },
        status: "created",
        limit: 4,
        ...(cursor === null ? {} : { cursor }),
      });
      seen.push(...page.runs.map((run) => run.run_id));
      cursor = page.cursor;
    } while (cursor !== null);
    expect(seen).toEqual([28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 2, 0].map((i) => `r${i}`));
    expect((await call("workflow_discover", { status: "done" })).runs.map((run: { run_id: string }) => run.run_id)).toEqual(["r4"]);
    expect((await call("workflow_discover", { tags: { parity: "even", all: "no" } })).runs).toEqual([]);
  });

  test("a cursor of one order is refused by the other", async () => {
    const { call, fails } = openTools();
    for (const run_id of ["a", "b"]) await call("workflow_create", { name: "w", run_id });
    const { cursor } = await call("workflow_discover", { limit: 1 });
    expect(await fails("workflow_discover", { limit: 1, cursor, claimable: true })).toMatchObject({ code: "invalid_input", details: { field: "cursor" } });
    expect((await call("workflow_list", { limit: 1, cursor })).runs).toHaveLength(1);
  });

  test("resume gives the newest steps, or those after a step, and says when there are more", async () => {
    const { call } = openTools();
    const { run_id } = await call("workflow_create", { name: "w" });
    for (let step = 1; step <= 10; step += 1) await call("workflow_checkpoint", { run_id, step, output: step });
    expect(await call("workflow_resume", { run_id, limit: 3 })).toMatchObject({ last_step: 10, step_outputs: { "8": 8, "9": 9, "10": 10 }, omitted: true });
    const after = await call("workflow_resume", { run_id, steps_after: 2, limit: 2 });
    expect(after.step_outputs).toEqual({ "3": 3, "4": 4 });
    expect(after.omitted).toBe(true);
    expect(await call("workflow_resume", { run_id, steps_after: 8 })).toMatchObject({ step_outputs: { "9": 9, "10": 10 }, omitted: false });
    expect((await call("workflow_resume", { run_id })).omitted).toBe(false);
  });

  test("large outputs and results do not make an unbounded answer", async () => {
    const { call } = openTools();
    const { run_id } = await call("workflow_create", { name: "w" });
    for (let step = 1; step <= 6; step += 1) await call("workflow_checkpoint", { run_id, step, output: "x".repeat(250_000) });
    const newest = await call("workflow_resume", { run_id });
    expect(Object.keys(newest.step_outputs)).toEqual(["3", "4", "5", "6"]);
    expect(newest.omitted).toBe(true);
    expect(Object.keys((await call("workflow_resume", { run_id, steps_after: 0 })).step_outputs)).toEqual(["1", "2", "3", "4"]);
    await call("workflow_finish", { run_id, status: "done", result: "y".repeat(100_000) });
    const [listed] = (await call("workflow_list")).runs;
    expect(listed.omitted).toEqual(["result"]);
    expect(listed.result).toBeUndefined();
    expect((await call("workflow_resume", { run_id, limit: 1 })).meta.result).toHaveLength(100_000);
  });
});
