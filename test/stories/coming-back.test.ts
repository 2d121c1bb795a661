import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildExecutable, startExecutable } from "../support/cli-process.ts";

let built: Awaited<ReturnType<typeof buildExecutable>>;
let env: Record<string, string>;
let project: string;
beforeAll(async () => {
  built = await buildExecutable();
  project = join(built.folder, "back", "project");
  await mkdir(project, { recursive: true });
  env = { PATH: process.env.PATH ?? "", HOME: join(built.folder, "back"), HOLDFAST_STORE: `sqlite:${join(built.folder, "back", "holdfast.db")}`, HOLDFAST_HOOK_TIMEOUT: "1h" };
});
afterAll(() => built?.remove());

/** A scripted client: the official one, on the real server, as an agent's program would start it. */
async function connect() {
  const transport = new StdioClientTransport({ command: process.execPath, args: [built.main], cwd: project, env, stderr: "inherit" });
  const client = new Client({ name: "scripted", version: "1.0.0" });
  await client.connect(transport);
  return {
    pid: transport.pid as number,
    async call(name: string, args: Record<string, unknown>) {
      const { structuredContent, isError, content } = await client.callTool({ name, arguments: args });
      if (isError) throw new Error(JSON.stringify(content));
      // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely by tests
      return structuredContent as any;
    },
    close: () => client.close(),
  };
}

async function hook(event: string, input: object): Promise<string> {
  const { child, finished } = startExecutable(built.main, ["hook", event], { env, cwd: project, stdio: ["pipe", "pipe", "pipe"] });
  child.stdin?.end(JSON.stringify({ session_id: "client-1", cwd: project, ...input }));
  const { code, stdout, stderr } = await finished;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

test("saved with questions, compacted, resumed, recalled in other words: an agent comes back to its work", async () => {
  const before = await connect();
  const saved = await before.call("save_knowledge", {
    id: "backoff",
    content: "retryQueue in src/worker.ts doubles its delay after each failure and gives up after seven attempts.",
    keywords: ["exponential backoff", "max attempts"],
    questions: ["How often is a failed job tried again?", "When does the worker stop retrying?", "Wie oft wird ein Auftrag wiederholt?"],
  });
  expect(saved.hint).toBeUndefined();
  await before.call("save_knowledge", { id: "colours", content: "The design system's button has three variants.", questions: ["Which buttons are there?"] });
  await before.call("checkpoint", {
    sessionId: "client-1",
    description: "Flush on shutdown loses the last item. Next: await drain() in stop().",
    highlights: ["never call process.exit in the worker"],
  });
  expect(await hook("pre-compact", { trigger: "auto" })).toBe("");
  // The context is gone, and so is the server with whatever it had in its head.
  process.kill(before.pid, "SIGKILL");
  await before.close().catch(() => {});

  const pack: string = JSON.parse(await hook("session-start", { source: "compact" })).hookSpecificOutput.additionalContext;
  for (const words of ["await drain() in stop()", "never call process.exit in the worker", "calling resume again is unnecessary"]) expect(pack).toContain(words);

  const after = await connect();
  const { text } = await after.call("resume", {
    session_id: "client-1",
    query: "how many times do we repeat a broken task",
    also: ["retry limit of failed jobs", "worker max attempts"],
  });
  expect(text).toMatch(/Your last entry[\s\S]*await drain\(\) in stop\(\)/);
  expect(text).toContain("gives up after seven attempts");

  const other = { query: "how many times do we repeat a broken task", also: ["retry limit of failed jobs", "worker max attempts", "Wiederholungen eines Auftrags"] };
  const recalled = await after.call("recall_knowledge", other);
  expect(recalled.items.map(({ id }: { id: string }) => id)).toEqual(["backoff"]);
  const missed = await after.call("recall_knowledge", { query: "which colour has the company car", also: ["company car paint", "vehicle colour"] });
  expect(missed.items).toEqual([]);
  await after.close();
});
