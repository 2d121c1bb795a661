import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openServing } from "../../src/compose-serving.ts";
import { readConfig } from "../../src/config.ts";
import { startHttpServer } from "../support/http-server.ts";
import { manualClock } from "../support/manual-clock.ts";
import { openEndpoint, requestOf } from "../support/mcp-endpoint.ts";
import type { Program } from "../support/mcp-process.ts";
import { buildProgram, connectProgram } from "../support/mcp-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
type Answer = any;

let program: Program;
beforeAll(async () => {
  program = await buildProgram();
});
afterAll(() => program[Symbol.asyncDispose]());

describe("a State Sidecar worker, with that system's own calls alone", () => {
  test.each(["handshake", "stateless"] as const)("runs over stdio, %s era; a second one is kept out", async (era) => {
    const args = ["--profile", "sidecar", "--store", program.storeUrl(`sidecar-${era}.db`)];
    await using worker = await connectProgram(program, era, args);
    await using other = await connectProgram(program, era, args);
    const ask = async ({ client }: { client: { callTool(call: object): Promise<unknown> } }, name: string, given: object): Promise<Answer> =>
      ((await client.callTool({ name, arguments: given })) as Answer).structuredContent;
    const { run_id } = await ask(worker, "workflow_create", { name: "nightly", tags: null });
    expect(await ask(worker, "workflow_claim", { run_id, agent_id: "worker-1" })).toMatchObject({ claimed: true });
    expect(await ask(worker, "workflow_checkpoint", { run_id, step: 1, output: { rows: 3 } })).toMatchObject({ ok: true, last_step: 1 });
    expect(await ask(other, "workflow_checkpoint", { run_id, step: 2, output: 1 })).toMatchObject({ error: { code: "claim_held" } });
    expect(await ask(other, "workflow_claim", { run_id, agent_id: "worker-2" })).toMatchObject({ claimed: false });
    expect(await ask(worker, "workflow_resume", { run_id })).toMatchObject({ last_step: 1, step_outputs: { 1: { rows: 3 } } });
  });

  test("runs over HTTP, each call on its own; another principal is kept out", async () => {
    await using server = await startHttpServer({ flags: { profile: "sidecar" } });
    const [token, foreign] = [await server.token({ name: "fleet" }), await server.token({ name: "other" })];
    const ask = async (name: string, given: Record<string, unknown>, as = token): Promise<Answer> =>
      ((await server.callTool(name, given, { token: as })) as Answer).result.structuredContent;
    const { run_id } = await ask("workflow_create", { name: "nightly" });
    await ask("workflow_claim", { run_id, agent_id: "worker-1" });
    expect(await ask("workflow_checkpoint", { run_id, step: 1, output: 1 })).toMatchObject({ ok: true });
    expect(await ask("workflow_checkpoint", { run_id, step: 2, output: 1 }, foreign)).toMatchObject({ error: { code: "claim_held" } });
    const giveBack = () => ask("lease_release", { resource_id: `workflow/${run_id}`, holder_id: "worker-1" });
    expect(await giveBack()).toMatchObject({ released: true });
    await ask("workflow_claim", { run_id, agent_id: "worker-1" });
    expect(await ask("workflow_checkpoint", { run_id, step: 2, output: 2 })).toMatchObject({ ok: true });
    await giveBack();
    expect(await ask("workflow_claim", { run_id, agent_id: "worker-2" })).toMatchObject({ claimed: true });
    // Which of the principal's two agents this is, nobody can tell.
    expect(await ask("workflow_checkpoint", { run_id, step: 3, output: 3 })).toMatchObject({ error: { code: "claim_held" } });
    expect(await ask("workflow_checkpoint", { run_id, step: 3, output: 3, agent_id: "worker-2" })).toMatchObject({ ok: true });
  });
});

test("highlights gather over stateless HTTP, and the answer shows them all", async () => {
  await using endpoint = await openEndpoint({ clock: manualClock() });
  let id = 0;
  const ask = async (given: Record<string, unknown>): Promise<Answer> => {
    id += 1;
    const { message } = await endpoint.post("stateless", requestOf("stateless", id, "tools/call", { name: "checkpoint", arguments: { workspace: "shop", ...given } }));
    return message.result.structuredContent;
  };
  for (const [i, highlight] of ["one", "two", "three"].entries())
    expect((await ask({ description: `Found ${highlight}`, highlights: [highlight], sessionId: i === 0 ? null : "" })).data.sessionHighlights).toBe(i + 1);
  expect((await ask({})).data.highlights).toEqual(["one", "two", "three"]);
});

test("a client without a profile gets Holdfast's own tools, and the text reports the cost of a mistake", async () => {
  await using connection = await connectProgram(program, "handshake", ["--profile", "default", "--store", program.storeUrl("default.db")]);
  const { tools } = await connection.client.listTools();
  expect(tools.length).toBeLessThanOrEqual(19);
  expect(tools.map(({ name }) => name)).not.toContain("get_state");
  const { content } = (await connection.client.callTool({ name: "checkpoint", arguments: { description: "Done.", workspace: "shop", highlights: '["a","b"]' } })) as Answer;
  expect(content.at(-1).text).toBe("Warning: highlights: read the JSON text as a list; send a list");
});

test.each([
  [{}, ["load_checkpoint", "state_get"], []],
  [{ profile: "coding" }, ["state_get"], ["load_checkpoint"]],
  [{ "read-only": true }, ["load_checkpoint"], ["state_set"]],
])("the dashboard of a server with %j can call %j and not %j", async (flags, offered, missing) => {
  const folder = await temporaryFolder();
  const store = `sqlite:${await temporaryFolder()}/store.db`;
  await (await openServing(readConfig({ port: "0", store }, {}), { dashboardFolder: folder, log: () => {} }))[Symbol.asyncDispose]();
  await using serving = await openServing(readConfig({ port: "0", store, ...flags }, {}), { dashboardFolder: folder, log: () => {} });
  const { tools } = (await (await fetch(`http://127.0.0.1:${serving.address.port}/api/tools`)).json()) as { tools: { name: string }[] };
  const names = tools.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(offered));
  for (const name of missing) expect(names).not.toContain(name);
});
