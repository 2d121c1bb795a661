import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import { parseSync } from "oxc-parser";
import { afterEach, expect, test, vi } from "vitest";
import { PgSession } from "../src/engines/postgres/pg-session.ts";
import { Connection } from "../src/engines/sqlite/connection.ts";
import { openSqliteEngine } from "../src/engines/sqlite/sqlite-engine.ts";
import type { Engine } from "../src/store/store.ts";
import { engineNamed } from "./support/engines.ts";
import { manualClock } from "./support/manual-clock.ts";
import { startRedis } from "./support/servers/redis-server.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";
import { openTools } from "./tools/open-tools.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const canary = "c4nary";
/** Breaks out of every quoting there is, if it is ever pasted into a statement. */
const hostile = `${canary}'"\`; DROP TABLE log; -- $1 ?1 %_* ' .. FLUSHALL`;

/** A call of everything that takes a text from a caller. */
async function useEverything(engine: Engine): Promise<void> {
  const tools = openTools({ engine, clock: manualClock(), writer: hostile });
  const agent = { agent_id: hostile };
  await tools.call("state_set", { key: hostile, value: { [hostile]: hostile }, ...agent }, { requestKey: hostile });
  await tools.call("state_set", { key: hostile, value: 2, ttl_seconds: 60 });
  await tools.call("state_commit", { writes: [{ key: `${hostile}/2`, value: hostile }], expected: [{ key: hostile, version: 2 }] });
  expect(await tools.call("state_get", { key: hostile })).toMatchObject({ value: 2 });
  expect((await tools.call("state_list", { prefix: canary, values: true })).entries).toHaveLength(2);
  await tools.call("list_state", { pattern: `%${canary}%` });
  const { run_id: runId } = await tools.call("workflow_create", { name: hostile, tags: { [canary]: hostile }, input: hostile });
  await tools.call("workflow_discover", { tags: { [canary]: hostile } });
  await tools.call("workflow_claim", { run_id: runId, agent_id: hostile });
  await tools.call("workflow_checkpoint", { run_id: runId, step: 1, output: hostile, agent_id: hostile });
  await tools.call("lease_acquire", { resource_id: hostile, holder_id: hostile, ttl_seconds: 60 });
  await tools.call("session_save", { session_id: hostile, context: { hostile } });
  await tools.call("checkpoint", { action: "save", description: hostile, workspace: hostile, tags: [hostile] });
  await tools.call("checkpoint", { action: "search", query: hostile, workspace: hostile });
  await tools.call("save_checkpoint", { core_question: hostile, thesis: hostile, confidence: 0.5 });
  await tools.call("list_checkpoints", { query: hostile });
  await tools.call("save_knowledge", { id: canary, content: hostile, keywords: [canary] });
  await tools.call("recall_knowledge", { query: hostile });
  await tools.call("history_log", { prefix: canary, writer: hostile });
  await tools.call("resume", { query: hostile, workspace: hostile, agent_id: hostile });
  await tools.call("state_delete", { key: hostile });
}

/** How many statements were seen, and those that hold what a caller sent. */
const seenIn = (texts: readonly string[]) => ({ seen: texts.length > 20, holding: texts.filter((text) => text.includes(canary)) });
const clean = { seen: true, holding: [] };

test("no SQL text holds anything that a caller sent, on SQLite", async () => {
  const statements = vi.spyOn(Connection.prototype, "statement");
  await using engine = await openSqliteEngine({ path: join(await temporaryFolder(), "store.db") });
  await useEverything(engine);
  expect(seenIn(statements.mock.calls.map(([sql]) => sql))).toEqual(clean);
});

test("no SQL text holds anything that a caller sent, on PostgreSQL", async () => {
  const sent = vi.spyOn(PgSession.prototype, "send");
  const { freshUrl, openOnClock } = engineNamed("PostgreSQL");
  await using engine = await openOnClock(await freshUrl(), manualClock());
  await useEverything(engine);
  expect(seenIn(sent.mock.calls.flatMap(([statements]) => statements.map(({ text }) => text)))).toEqual(clean);
});

test("no script holds anything that a caller sent: keys and values are arguments, on Redis", async () => {
  const sent = vi.spyOn(Redis.prototype, "sendCommand");
  // A server that has seen no script yet: one that knows them is sent their names, and nothing could be looked at.
  await using server = await startRedis();
  await using engine = await engineNamed("Redis").openOnClock(server.url, manualClock());
  await useEverything(engine);
  const commands = sent.mock.calls.map(([command]) => command as unknown as { readonly name: string; readonly args: readonly unknown[] });
  // What the server runs: the command, and of a script its text.
  const run = commands.map(({ name, args }) => `${name} ${/^(eval|script|function)$/i.test(name) ? args.slice(0, 2).join(" ") : String(args[0])}`);
  expect(run.some((text) => text.includes("redis.call"))).toBe(true);
  expect(seenIn(run.filter((text) => /^(eval|evalsha|script)/i.test(text)))).toEqual(clean);
});

test("the look at statements sees one that was put together from input", async () => {
  const statements = vi.spyOn(Connection.prototype, "statement");
  await using engine = await openSqliteEngine({ path: join(await temporaryFolder(), "store.db") });
  await useEverything(engine);
  const [connection] = statements.mock.contexts as [Connection];
  connection.statement(`SELECT k FROM kv WHERE k = '${hostile.replaceAll("'", "''")}'`).all();
  expect(seenIn(statements.mock.calls.map(([sql]) => sql)).holding).toHaveLength(1);
});

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** Regular expressions that are not written out, but made while the program runs. */
function madeExpressions(source: string): readonly string[] {
  const found: string[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) return value.forEach(visit);
    if (typeof value !== "object" || value === null) return;
    const node = value as Node;
    const callee = node.callee as Node | undefined;
    if ((node.type === "NewExpression" || node.type === "CallExpression") && callee?.type === "Identifier" && callee.name === "RegExp")
      found.push(source.slice(node.start, node.end));
    Object.values(node).forEach(visit);
  };
  visit(parseSync("a.ts", source, { lang: "ts" }).program);
  return found;
}

/** Reviewed, with how many there are: each is made once, or of a name that stands in our own code, never of what a caller sent. */
const reviewed: Readonly<Record<string, number>> = {
  "domain/journal/time-words.ts": 5,
  "engines/redis/server-facts.ts": 1,
  "search/stop-words.ts": 1,
  "search/tokenizer.ts": 3,
  "surfaces/http/static-files.ts": 1,
};

test("no regular expression is made of input: those that are made at all were looked at by a person", () => {
  const src = fileURLToPath(new URL("../src/", import.meta.url));
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));
  expect(files.length).toBeGreaterThan(300);
  const made = files.flatMap((path) => {
    const count = madeExpressions(readFileSync(join(src, path), "utf8")).length;
    return count === 0 ? [] : [[path.replaceAll("\\", "/"), count] as const];
  });
  expect(Object.fromEntries(made)).toEqual(reviewed);
  expect(madeExpressions("const find = (pattern: string) => new RegExp(pattern).test(text);")).toEqual(["new RegExp(pattern)"]);
  expect(madeExpressions("const find = (pattern: string) => RegExp(pattern, 'u');")).toHaveLength(1);
});
