import { describe, expect, test } from "vitest";
import type { Principal } from "../../../src/domain/identity/principal.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import type { ActivityAnswer, CreatedToken, LeasesAnswer, NoteChanged, NoteView, RunDetail, RunsPage, SteppedIn, TokensAnswer } from "../../../src/surfaces/dashboard/api.ts";
import { openAnswerGates } from "../../../src/surfaces/mcp/http/open-answer-gates.ts";
import { catalog } from "../../../src/tools/catalog.ts";
import { engineNamed } from "../../support/engines.ts";
import { manualClock } from "../../support/manual-clock.ts";
import { openApi, openMemoryApi, person, refusalOf } from "./open-api.ts";

const ns = "/api/ns/team";

async function open(name: "memory" | "SQLite") {
  const clock = manualClock();
  const engine = await engineNamed(name).openOnClock(await engineNamed(name).freshUrl(), clock);
  return { ...openApi({ engine, clock }), clock, [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
}

describe.each(["memory", "SQLite"] as const)("a person steps in on %s", (name) => {
  test("releases a lease of any holder: the holder's token protects nothing any more, and history names the person", async () => {
    await using api = await open(name);
    await api.agent("lease_acquire", { resource_id: "deploy", holder_id: "worker-1", ttl_seconds: 600 });
    const [lease] = (await api.get<LeasesAnswer>(`${ns}/leases`)).leases;
    await api.post<SteppedIn>(`${ns}/leases/release`, { resource: "deploy", token: lease?.token });
    expect((await api.get<LeasesAnswer>(`${ns}/leases`)).leases).toEqual([]);
    await expect(api.agent("state_set", { key: "k", value: 1, lease: { resource_id: "deploy", token: lease?.token } })).rejects.toThrow(/lease_lost/);
    expect((await api.get<ActivityAnswer>(`${ns}/activity`)).items[0]).toMatchObject({ kind: "lease", operation: "released by an operator", subject: "deploy", writer: "someone" });
    expect(await api.agent("lease_acquire", { resource_id: "deploy", holder_id: "worker-2", ttl_seconds: 5 })).toMatchObject({ acquired: true });
  });

  test("never hits a newer holder: only the token that was seen is released", async () => {
    await using api = await open(name);
    const { token } = await api.agent("lease_acquire", { resource_id: "deploy", holder_id: "worker-1", ttl_seconds: 5 });
    api.clock.advance(6_000);
    const newer = await api.agent("lease_acquire", { resource_id: "deploy", holder_id: "worker-2", ttl_seconds: 600 });
    const refusal = await refusalOf(api.post(`${ns}/leases/release`, { resource: "deploy", token }));
    expect(refusal).toMatchObject({ code: "lease_lost", details: { holder: "worker-2", token: newer.token } });
    expect((await api.get<LeasesAnswer>(`${ns}/leases`)).leases).toMatchObject([{ holder: "worker-2", token: newer.token }]);
    api.clock.advance(601_000);
    expect(await refusalOf(api.post(`${ns}/leases/release`, { resource: "deploy", token: newer.token }))).toMatchObject({ code: "lease_lost", details: { holder: null } });
  });

  test("gives the lease to the first waiter at once", async () => {
    await using api = await open(name);
    const { token } = await api.agent("lease_acquire", { resource_id: "deploy", holder_id: "worker-1", ttl_seconds: 600 });
    const waiting = api.agent("lease_acquire", { resource_id: "deploy", holder_id: "worker-2", ttl_seconds: 60, wait_seconds: 30 });
    await expect.poll(async () => (await api.get<LeasesAnswer>(`${ns}/leases`)).leases[0]).toMatchObject({ waiting: 1, waiters: ["worker-2"] });
    await api.post(`${ns}/leases/release`, { resource: "deploy", token });
    expect(await waiting).toMatchObject({ acquired: true, holder: "worker-2" });
  });

  test("returns a run with its steps: any agent may claim it, the former worker may not report, and the timeline says who did it", async () => {
    await using api = await open(name);
    await api.agent("workflow_create", { name: "import", run_id: "r" });
    const { token } = await api.agent("workflow_claim", { run_id: "r", agent_id: "worker-1", ttl_seconds: 600 });
    await api.agent("workflow_checkpoint", { run_id: "r", step: 1, output: "one", agent_id: "worker-1" });
    expect(await refusalOf(api.post(`${ns}/runs/return`, { runId: "r", token: Number(token) + 1 }))).toMatchObject({ code: "lease_lost", details: { holder: "worker-1" } });
    await api.post<SteppedIn>(`${ns}/runs/return`, { runId: "r", token });
    await expect(api.agent("workflow_checkpoint", { run_id: "r", step: 2, output: "two", agent_id: "worker-1" })).rejects.toThrow(/claim_lost/);
    expect(await api.agent("workflow_claim", { agent_id: "worker-2", ttl_seconds: 60 })).toMatchObject({ claimed: true, run_id: "r" });
    const { timeline, steps } = await api.get<RunDetail>(`${ns}/run`, { id: "r" });
    expect(steps).toMatchObject([{ step: 1, output: "one" }]);
    expect(timeline.map(({ what, writer, agent }) => [what, agent ?? writer])).toEqual([
      ["created", "fleet"],
      ["claimed", "worker-1"],
      ["step", "worker-1"],
      ["returned", "someone"],
      ["claimed", "worker-2"],
    ]);
  });

  test("returns a run by its lease too, and one whose claim has lapsed", async () => {
    await using api = await open(name);
    await api.agent("workflow_create", { name: "import", run_id: "r" });
    const first = await api.agent("workflow_claim", { run_id: "r", agent_id: "worker-1", ttl_seconds: 600 });
    await api.post(`${ns}/leases/release`, { resource: "workflow/r", token: first.token });
    const second = await api.agent("workflow_claim", { run_id: "r", agent_id: "worker-2", ttl_seconds: 5 });
    api.clock.advance(6_000);
    const lapsed = await api.get<RunDetail>(`${ns}/run`, { id: "r" });
    expect(lapsed.timeline.at(-1)).toMatchObject({ what: "lapsed", atMs: 1_800_000_005_000 });
    expect(lapsed.run.token).toBe(second.token);
    await api.post(`${ns}/runs/return`, { runId: "r", token: second.token });
    const returned = (await api.get<RunDetail>(`${ns}/run`, { id: "r" })).run;
    expect([returned.status, returned.token, returned.agent]).toEqual(["created", undefined, undefined]);
    await expect(api.agent("workflow_checkpoint", { run_id: "r", step: 1, output: 1, agent_id: "worker-2" })).rejects.toThrow(/claim_lost/);
  });

  test("cancels a run as it was shown: with its holder's token, or without one if it had no holder", async () => {
    await using api = await open(name);
    for (const run_id of ["free", "held"]) await api.agent("workflow_create", { name: "import", run_id });
    const { token } = await api.agent("workflow_claim", { run_id: "held", agent_id: "worker-1", ttl_seconds: 600 });
    expect(await refusalOf(api.post(`${ns}/runs/cancel`, { runId: "held" }))).toMatchObject({ code: "lease_lost", details: { holder: "worker-1", token } });
    await api.post(`${ns}/runs/cancel`, { runId: "held", token, reason: "not needed" });
    await api.post(`${ns}/runs/cancel`, { runId: "free" });
    expect((await api.get<RunsPage>(`${ns}/runs`, { status: "cancelled" })).runs.map(({ runId }) => runId).sort()).toEqual(["free", "held"]);
    const detail = await api.get<RunDetail>(`${ns}/run`, { id: "held" });
    expect(detail).toMatchObject({ error: "not needed", run: { agent: "worker-1" } });
    expect(detail.timeline.at(-1)).toMatchObject({ what: "cancelled", writer: "someone" });
    expect(await refusalOf(api.post(`${ns}/runs/cancel`, { runId: "held", token }))).toMatchObject({ code: "workflow_finished" });
    expect((await api.get<LeasesAnswer>(`${ns}/leases`)).leases).toEqual([]);
    expect(await refusalOf(api.post(`${ns}/runs/return`, { runId: "none", token: 1 }))).toMatchObject({ code: "not_found" });
  });

  test("corrects a part of a note, if it is still the version that was read", async () => {
    await using api = await open(name);
    await api.agent("save_knowledge", { id: "ports", content: "The server listens on 8000.", keywords: ["listen"], source: "run book", trust: "high" });
    expect(await api.post<NoteChanged>(`${ns}/notes/change`, { name: "ports", version: 1, status: "deprecated" })).toEqual({ name: "ports", version: 2 });
    expect((await api.get<NoteView>(`${ns}/note`, { name: "ports" })).note).toMatchObject({
      status: "deprecated",
      content: "The server listens on 8000.",
      keywords: ["listen"],
      source: "run book",
      trust: "high",
      writer: "someone",
    });
    expect(await refusalOf(api.post(`${ns}/notes/change`, { name: "ports", version: 1, content: "8080" }))).toMatchObject({ code: "conflict", details: { actual_version: 2 } });
    expect(await refusalOf(api.post(`${ns}/notes/change`, { name: "none", version: 1, content: "x" }))).toMatchObject({ code: "not_found" });
    // What is said already is not said again.
    expect(await api.post<NoteChanged>(`${ns}/notes/change`, { name: "ports", version: 2, status: "deprecated" })).toEqual({ name: "ports", version: 2 });
    // Withdrawn notes are not recalled; active again, they are.
    expect(await api.agent("recall_knowledge", { query: "which port does the server listen on" })).toMatchObject({ items: [] });
    await api.post(`${ns}/notes/change`, { name: "ports", version: 2, status: "active" });
    expect(await api.agent("recall_knowledge", { query: "which port does the server listen on" })).toMatchObject({ items: [{ id: "ports" }] });
  });

  test("edits a key through its tool, with the version check, under their own name", async () => {
    await using api = await open(name);
    await api.agent("state_set", { key: "k", value: 1, agent_id: "worker-1" });
    expect(await api.post(`${ns}/tools/state_set`, { key: "k", value: 2, expected_version: 1 })).toMatchObject({ ok: true, version: 2 });
    expect(await api.post(`${ns}/tools/state_set`, { key: "k", value: 3, expected_version: 1 })).toMatchObject({ ok: false, reason: "conflict", actual_version: 2 });
    expect((await api.get<ActivityAnswer>(`${ns}/activity`)).items[0]).toMatchObject({ operation: "set", subject: "k", writer: "someone" });
    expect(await refusalOf(api.post(`${ns}/tools/state_set`, { key: "k" }))).toMatchObject({ code: "invalid_input", details: { field: "value" } });
  });
});

describe("what a person may do", () => {
  test("a tool that is not in their list is like one that does not exist", async () => {
    const { routes, base } = openMemoryApi();
    const route = routes.find(({ path }) => path.endsWith("/tools/:tool"));
    const call = (tool: string) =>
      refusalOf(
        (route as NonNullable<typeof route>).handle({
          principal: { ...person, role: "read" },
          base,
          tools: catalog.filter(({ effect }) => effect === "read"),
          params: { namespace: "team", tool },
          query: new URLSearchParams(),
          json: async () => ({ key: "k", value: 1 }),
          signal: new AbortController().signal,
          gate: openAnswerGates(systemClock).open("someone"),
          openWait: () => () => {},
        }),
      );
    expect((await call("state_set")).message.replace("state_set", "…")).toBe((await call("no_such_tool")).message.replace("no_such_tool", "…"));
    expect(await call("state_set")).toMatchObject({ code: "not_found" });
  });

  test("an invalid body is refused with every problem named", async () => {
    const { post } = openMemoryApi();
    const refusal = await refusalOf(post(`${ns}/leases/release`, { resourse: "deploy", token: "7" }));
    expect(refusal.code).toBe("invalid_input");
    expect(refusal.message).toContain("resource: required; must be a string");
    expect(refusal.message).toContain("token: must be a number, not a string");
    expect(refusal.message).toContain("unknown argument: resourse; allowed: resource, token");
    expect(await refusalOf(post(`${ns}/runs/cancel`, null))).toMatchObject({ code: "invalid_input" });
  });
});

describe("tokens", () => {
  test("are made, listed and revoked; the secret is shown once", async () => {
    const { get, post, delete: remove, clock, logged } = openMemoryApi();
    const expiresAtMs = clock.nowMs() + 3_600_000;
    const { token, secret } = await post<CreatedToken>("/api/tokens", { name: "ci", role: "write", namespaces: ["team"], expiresAtMs });
    expect(secret).toMatch(/^hf_[\w-]{51}$/);
    const listed = await get<TokensAnswer>("/api/tokens");
    expect(listed.tokens).toEqual([token]);
    expect(token).toMatchObject({ name: "ci", role: "write", namespaces: ["team"], createdBy: "someone", expiresAtMs });
    expect(JSON.stringify(listed)).not.toContain(secret.slice(3));
    expect(await remove(`/api/tokens/${token.id}`)).toEqual({ revoked: true });
    expect((await get<TokensAnswer>("/api/tokens")).tokens).toEqual([]);
    expect(await refusalOf(remove(`/api/tokens/${token.id}`))).toMatchObject({ code: "not_found" });
    expect(logged).toEqual([
      { level: "info", event: "token_created", facts: { token: token.id, name: "ci", role: "write", namespaces: ["team"], by: "someone" } },
      { level: "info", event: "token_revoked", facts: { token: token.id, name: "ci", by: "someone" } },
    ]);
  });

  test("of what an administrator may not use itself are neither shown nor made nor revoked", async () => {
    const { get, post, delete: remove } = openMemoryApi();
    const teamAdmin: Principal = { name: "lead", role: "admin", namespaces: ["team"], kind: "token" };
    const { token: foreign } = await post<CreatedToken>("/api/tokens", { name: "other", role: "read", namespaces: ["other"] });
    const { token: wide } = await post<CreatedToken>("/api/tokens", { name: "wide", role: "read", namespaces: "*" });
    for (const namespaces of ["*", ["other"], ["team", "other"]])
      expect(await refusalOf(post("/api/tokens", { name: "more", role: "read", namespaces }, teamAdmin))).toMatchObject({ code: "forbidden" });
    const { token: own } = await post<CreatedToken>("/api/tokens", { name: "own", role: "admin", namespaces: ["team"] }, teamAdmin);
    expect((await get<TokensAnswer>("/api/tokens", {}, teamAdmin)).tokens.map(({ id }) => id)).toEqual([own.id]);
    expect(own.createdBy).toBe("lead");
    const unknown = await refusalOf(remove("/api/tokens/0000000000000000", teamAdmin));
    for (const { id } of [foreign, wide]) expect(await refusalOf(remove(`/api/tokens/${id}`, teamAdmin))).toEqual(unknown);
    expect((await get<TokensAnswer>("/api/tokens")).tokens).toHaveLength(3);
  });

  test("that make no sense are refused by field", async () => {
    const { post, clock } = openMemoryApi();
    const wrong = (body: Record<string, unknown>) => refusalOf(post("/api/tokens", { name: "ci", role: "write", namespaces: ["team"], ...body }));
    expect((await wrong({ role: "root" })).message).toMatch(/^role: must be one of "read", "write", "admin"/);
    expect((await wrong({ namespaces: "team" })).message).toMatch(/^namespaces: /);
    expect((await wrong({ namespaces: [] })).message).toMatch(/^namespaces: /);
    expect((await wrong({ name: "" })).message).toMatch(/^name: /);
    expect((await wrong({ expiresAtMs: clock.nowMs() })).message).toMatch(/^expiresAtMs: must be a time in the future/);
  });
});
