import { describe, expect, test } from "vitest";
import { openTools, startSeconds } from "./open-tools.ts";

type Entry = { op: string; key: string; kind: string; revision: number; id: string; previous_value: string };
const opsOf = (answer: { entries: Entry[] }): string[] => answer.entries.map(({ kind, op }) => `${kind}.${op}`);

describe("history_log", () => {
  test("a record names what changed, from what, to what, by whom and when", async () => {
    const { call, clock } = openTools({ writer: "os-user" });
    await call("state_set", { key: "k", value: 1 });
    clock.advance(1_500);
    await call("state_set", { key: "k", value: 2, agent_id: "ada" });
    expect(await call("history_log", { key: "k" })).toEqual({
      entries: [
        {
          id: "2-0",
          revision: 2,
          kind: "state",
          op: "set",
          key: "k",
          version: 2,
          new_value: 2,
          previous_value: 1,
          agent_id: "ada",
          writer: "os-user",
          written_at: startSeconds + 1.5,
        },
        { id: "1-0", revision: 1, kind: "state", op: "set", key: "k", version: 1, new_value: 1, previous_value: null, agent_id: null, writer: "os-user", written_at: startSeconds },
      ],
      total: 2,
      cursor: null,
    });
  });

  test("long values are cut to a preview that says so, and the whole is a state_get away", async () => {
    const { call } = openTools();
    const long = { text: "x".repeat(500_000) };
    await call("state_set", { key: "k", value: long });
    await call("state_set", { key: "k", value: "short" });
    const answer = await call("history_log");
    expect(JSON.stringify(answer).length).toBeLessThan(3_000);
    const [second, first] = answer.entries;
    expect(first).toMatchObject({ new_value: expect.stringMatching(/^\{"text":"x+… \(500011 characters\)$/), previous_value: null, cut: ["new_value"] });
    expect(second).toMatchObject({ new_value: "short", cut: ["previous_value"] });
    expect((await call("state_get", { key: "k", version: first.version })).value).toEqual(long);
  });

  test("a value of a thousand characters is whole", async () => {
    const { call } = openTools();
    await call("state_set", { key: "k", value: "x".repeat(1_000) });
    const [entry] = (await call("history_log")).entries;
    expect(entry.new_value).toHaveLength(1_000);
    expect(entry.cut).toBeUndefined();
  });

  test("runs and leases are described in the words of the tools", async () => {
    const { call } = openTools();
    const { run_id } = await call("workflow_create", { name: "w", tags: { a: "b" } });
    await call("workflow_claim", { run_id, agent_id: "ada" });
    await call("workflow_checkpoint", { run_id, agent_id: "ada", step: 1, output: { createdAtMs: 1 } });
    await call("lease_acquire", { resource_id: "r", holder_id: "ada", ttl_seconds: 5 });
    await call("workflow_finish", { run_id, agent_id: "ada", status: "done", result: 1 });
    const { entries } = await call("history_log");
    expect(entries.map(({ new_value }: { new_value: unknown }) => new_value)).toEqual([
      { name: "w", status: "done", tags: { a: "b" }, priority: 0, last_step: 1, attempts: 1, created_at: startSeconds, ended_by: "ada", result: 1 },
      { holder: "ada", ttl_seconds: 5 },
      { createdAtMs: 1 },
      { name: "w", status: "claimed", tags: { a: "b" }, priority: 0, last_step: 0, attempts: 1, created_at: startSeconds },
      { name: "w", status: "created", tags: { a: "b" }, priority: 0, last_step: 0, attempts: 0, created_at: startSeconds },
    ]);
  });

  test("every mutation of every kind has exactly one record", async () => {
    const { call, clock, engine } = openTools();
    await call("state_set", { key: "k", value: 1 });
    await call("state_set", { key: "brief", value: 1, ttl_seconds: 1 });
    await call("state_delete", { key: "k" });
    await call("state_delete", { key: "k" });
    await call("lease_acquire", { resource_id: "r", holder_id: "ada", ttl_seconds: 1 });
    await call("lease_renew", { resource_id: "r", holder_id: "ada", ttl_seconds: 2 });
    await call("lease_release", { resource_id: "r", holder_id: "ada" });
    await call("lease_acquire", { resource_id: "r", holder_id: "bob", ttl_seconds: 1 });
    await call("session_save", { session_id: "s", context: {} });
    await call("workflow_create", { name: "w", run_id: "run" });
    await call("workflow_claim", { run_id: "run", agent_id: "ada" });
    await call("workflow_checkpoint", { run_id: "run", step: 1, output: 1, agent_id: "ada" });
    await call("workflow_finish", { run_id: "run", status: "done", agent_id: "ada" });
    clock.advance(5_000);
    await engine.sweep("test", 100);
    const log = await call("history_log", { n: 200 });
    expect(opsOf(log).toReversed().slice(0, 11)).toEqual([
      "state.set",
      "state.set",
      "state.delete",
      "lease.acquire",
      "lease.renew",
      "lease.release",
      "lease.acquire",
      "session.save",
      "workflow.create",
      "workflow.claim",
      "workflow.checkpoint",
    ]);
    expect(opsOf(log).toReversed()[11]).toBe("workflow.finish");
    expect(opsOf(log).toReversed().slice(12).sort()).toEqual(["lease.lapse", "state.expire"]);
    expect(log.total).toBe(14);
  });

  test("is narrowed by prefix, kind, writer and revision", async () => {
    const { call } = openTools();
    await call("state_set", { key: "a/1", value: 1, agent_id: "ada" });
    await call("state_set", { key: "a/2", value: 1, agent_id: "bob" });
    await call("session_save", { session_id: "a/s", context: {} });
    await call("state_set", { key: "b", value: 1, agent_id: "ada" });
    const keys = async (query: object) => (await call("history_log", query)).entries.map(({ key }: Entry) => key);
    expect(await keys({ prefix: "a/" })).toEqual(["a/s", "a/2", "a/1"]);
    expect(await keys({ prefix: "a/", kind: "state" })).toEqual(["a/2", "a/1"]);
    expect(await keys({ kind: "session" })).toEqual(["a/s"]);
    expect(await keys({ writer: "ada" })).toEqual(["b", "a/1"]);
    expect(await keys({ after_revision: 2 })).toEqual(["b", "a/s"]);
  });

  test("shows 10 records unless asked otherwise, and the cursor continues to the oldest, also within one revision", async () => {
    const { call } = openTools();
    await call("state_commit", { writes: Array.from({ length: 15 }, (_, i) => ({ key: `k${String(i).padStart(2, "0")}`, value: i })) });
    const first = await call("history_log");
    expect(first.entries).toHaveLength(10);
    expect(first.total).toBe(15);
    const second = await call("history_log", { cursor: first.cursor });
    expect(second.entries).toHaveLength(5);
    expect(second.cursor).toBeNull();
    expect([...first.entries, ...second.entries].map(({ key }: Entry) => key)).toEqual(Array.from({ length: 15 }, (_, i) => `k${String(14 - i).padStart(2, "0")}`));
  });

  test("large values end the page early, and the cursor continues", async () => {
    const { call } = openTools();
    for (let i = 0; i < 6; i += 1) await call("state_set", { key: "k", value: `${i}${"x".repeat(1_000_000)}` });
    const seen: number[] = [];
    let cursor: string | null = null;
    do {
      const page: { entries: Entry[]; cursor: string | null } = await call("history_log", cursor === null ? {} : { cursor });
      expect(JSON.stringify(page).length).toBeLessThan(7_000_000);
      seen.push(...page.entries.map(({ revision }) => revision));
      cursor = page.cursor;
    } while (cursor !== null);
    expect(seen).toEqual([6, 5, 4, 3, 2, 1]);
  });

  test("the cursor continues within a revision whose old values are many times an answer", async () => {
    const { call } = openTools();
    const keys = Array.from({ length: 8 }, (_, i) => `k${i}`);
    for (const key of keys) await call("state_set", { key, value: `${key}${"x".repeat(500_000)}` });
    await call("state_commit", { writes: keys.map((key) => ({ key, value: 1 })) });
    const seen: Entry[] = [];
    let cursor: string | null = null;
    do {
      const page: { entries: Entry[]; cursor: string | null } = await call("history_log", { after_revision: 8, ...(cursor === null ? {} : { cursor }) });
      expect(page.entries.length).toBeGreaterThan(0);
      seen.push(...page.entries);
      cursor = page.cursor;
    } while (cursor !== null);
    expect(seen.map(({ key, previous_value }) => [key, previous_value.slice(0, 3)])).toEqual(keys.toReversed().map((key) => [key, `${key}x`]));
  });

  test.each([
    [{ key: "a", prefix: "b" }, "prefix"],
    [{ n: 0 }, "n"],
    [{ n: 201 }, "n"],
    [{ kind: "rumour" }, "kind"],
    [{ cursor: Buffer.from("history x-1").toString("base64url") }, "cursor"],
  ])("%j is wrong input naming %s", async (args, field) => {
    const { fails } = openTools();
    expect(await fails("history_log", args)).toMatchObject({ code: "invalid_input", details: { field } });
  });
});
