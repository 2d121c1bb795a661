import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { openSqliteEngine } from "../../src/engines/sqlite/sqlite-engine.ts";
import { HoldfastError } from "../../src/kernel/errors.ts";
import { limits } from "../../src/store/limits.ts";
import { manualClock } from "../support/manual-clock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { TestTools } from "./open-tools.ts";
import { openTools, revisionOf } from "./open-tools.ts";

describe("sidecar_health", () => {
  test("counts what is live and says what an acknowledged write survives", async () => {
    const { call, clock } = openTools();
    await call("state_set", { key: "k", value: 1 });
    await call("state_set", { key: "gone", value: 1, ttl_seconds: 1 });
    await call("workflow_create", { name: "w", run_id: "r" });
    await call("lease_acquire", { resource_id: "x", holder_id: "a", ttl_seconds: 100 });
    clock.advance(2_000);
    expect(await call("sidecar_health")).toEqual({
      status: "ok",
      backend: "memory",
      namespace: "test",
      uptime_s: 2,
      version: "1.2.3",
      key_count: 1,
      workflow_count: 1,
      lease_count: 1,
      revision: 4,
      engine: expect.objectContaining({ name: "memory", durability: expect.stringContaining("lost"), warnings: [expect.any(String)] }),
    });
  });

  test("a store that cannot be reached makes the status an error, not the call", async () => {
    const clock = manualClock();
    const engine = await openSqliteEngine({ path: join(await temporaryFolder(), "store.db"), clock });
    const { call } = openTools({ engine, clock });
    expect((await call("sidecar_health")).status).toBe("ok");
    await engine[Symbol.asyncDispose]();
    const health = await call("sidecar_health");
    expect(health).toMatchObject({ status: expect.stringMatching(/^error: /), backend: "sqlite", key_count: null, revision: null, version: "1.2.3" });
    expect(health.status).not.toMatch(/SELECT|\/|\.ts/);
  });
});

describe("sidecar_reset", () => {
  test.each([{}, { confirm: "" }, { confirm: "other" }, { confirm: true }])("%j is refused and nothing happens", async (args) => {
    const { call, fails } = openTools();
    await call("state_set", { key: "k", value: 1 });
    expect(await fails("sidecar_reset", args)).toMatchObject({ code: "invalid_input", message: expect.stringMatching(/^confirm: .*namespace's name/) });
    expect((await call("state_get", { key: "k" })).found).toBe(true);
  });

  test("clears everything, and neither versions nor tokens nor revisions start again", async () => {
    const { call } = openTools();
    await call("state_set", { key: "k", value: 1 });
    await call("session_save", { session_id: "s", context: {} });
    await call("workflow_create", { name: "w", run_id: "r" });
    const { token } = await call("lease_acquire", { resource_id: "x", holder_id: "a", ttl_seconds: 100 });
    expect(await call("sidecar_reset", { confirm: "test" })).toEqual({ ok: true, cleared: 4, backup: null });
    expect(await call("sidecar_health")).toMatchObject({ key_count: 0, workflow_count: 0, lease_count: 0 });
    expect((await call("session_restore", { session_id: "s" })).found).toBe(false);
    expect((await call("state_set", { key: "k", value: 1 })).version).toBe(2);
    expect((await call("lease_acquire", { resource_id: "x", holder_id: "b", ttl_seconds: 100 })).token).toBeGreaterThan(token);
  });

  test("that fails after a part was cleared does not say that nothing was changed", async () => {
    const clock = manualClock();
    const engine = new MemoryEngine(clock);
    const { call, outcome } = openTools({ engine, clock });
    for (let i = 0; i <= limits.commitWritesMax; i += 1) await call("state_set", { key: `k${i}`, value: i });
    const commit = engine.commit.bind(engine);
    let commits = 0;
    engine.commit = async (...batch) => {
      commits += 1;
      if (commits > 1) throw new HoldfastError("unavailable", "The store is away; nothing was changed.");
      return commit(...batch);
    };
    const failed = await outcome("sidecar_reset", { confirm: "test" });
    expect(failed).toMatchObject({ ok: false, error: { code: "outcome_unknown", message: "A part of the namespace was cleared; then the store failed (unavailable)." } });
    engine.commit = commit;
    expect((await call("sidecar_health")).key_count).toBe(1);
    expect(await call("sidecar_reset", { confirm: "test" })).toMatchObject({ cleared: 1 });
  });

  test("repeated with its request key it answers again and clears nothing more", async () => {
    const { call } = openTools();
    await call("state_set", { key: "k", value: 1 });
    const first = await call("sidecar_reset", { confirm: "test" }, { requestKey: "once" });
    await call("state_set", { key: "later", value: 1 });
    expect(await call("sidecar_reset", { confirm: "test" }, { requestKey: "once" })).toEqual(first);
    expect((await call("state_get", { key: "later" })).found).toBe(true);
  });

  test("backs up its own namespace first, up to one revision, and clears nothing that came after it", async () => {
    const asked: string[] = [];
    const tools: TestTools = openTools({
      server: {
        async backUp(namespace) {
          asked.push(namespace);
          const revision = await revisionOf(tools.base);
          await tools.call("state_set", { key: "later", value: 1 });
          return { path: "/somewhere/store.db.backup-1", revision };
        },
      },
    });
    await tools.call("state_set", { key: "k", value: 1 });
    expect(await tools.call("sidecar_reset", { confirm: "test" })).toEqual({ ok: true, cleared: 1, backup: "/somewhere/store.db.backup-1" });
    expect(asked).toEqual(["test"]);
    expect((await tools.call("state_get", { key: "later" })).found).toBe(true);
  });

  test("backs up nothing when there is nothing to clear", async () => {
    const { call } = openTools({ server: { backUp: () => Promise.reject(new Error("asked for a backup of nothing")) } });
    expect(await call("sidecar_reset", { confirm: "test" })).toEqual({ ok: true, cleared: 0, backup: null });
  });

  test("clears nothing when the backup cannot be written", async () => {
    const tools = openTools({ server: { backUp: () => Promise.reject(new HoldfastError("storage_full", "The disk is full.")) } });
    await tools.call("state_set", { key: "k", value: 1 });
    expect(await tools.fails("sidecar_reset", { confirm: "test" })).toMatchObject({ code: "storage_full" });
    expect((await tools.call("state_get", { key: "k" })).found).toBe(true);
  });

  test.each(["store", "namespace"] as const)("tells a caller on another machine who may use the %s a file's name, and not where it lies", async (tellsOf) => {
    const { call } = openTools({
      server: {
        tellsOf,
        backUp: () => Promise.resolve({ path: "/srv/data/store.db.backup-1", revision: 1_000 }),
        mirror: { checkpoint: () => Promise.resolve("/srv/data/checkpoints/a.yaml"), note: () => Promise.resolve("/srv/data/knowledge/a.md") },
      },
    });
    expect((await call("save_knowledge", { id: "a", content: "b" })).path).toBe("a.md");
    expect((await call("save_checkpoint", { core_question: "q", thesis: "t", confidence: 0.5 })).path).toBe("a.yaml");
    expect((await call("sidecar_reset", { confirm: "test" })).backup).toBe("store.db.backup-1");
  });
});
