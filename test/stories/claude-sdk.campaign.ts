import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import type { ClaudeSessionEntry, ClaudeSessionStore, FoldSessionSummary } from "../../src/claude.ts";
import { HoldfastSessionStore } from "../../src/claude.ts";
import { connectHoldfast, openHoldfast } from "../../src/index.ts";
import { sharedEngines } from "../support/engines.ts";
import { startHttpProcess } from "../support/http-process.ts";
import { pythonFolder } from "../support/python-tests.ts";
import { sharedBuild } from "../support/shared-builds.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { requireService, root } from "./installed-package.ts";

const run = promisify(execFile);

/** The parts of the SDK that this campaign calls. */
interface ClaudeSdk {
  readonly InMemorySessionStore: new () => ClaudeSessionStore;
  readonly foldSessionSummary: FoldSessionSummary;
  listSessions(options: { readonly dir: string; readonly sessionStore: ClaudeSessionStore }): Promise<readonly Readonly<Record<string, unknown>>[]>;
  getSessionMessages(id: string, options: { readonly dir: string; readonly sessionStore: ClaudeSessionStore }): Promise<readonly unknown[]>;
  renameSession(id: string, title: string, options: { readonly dir: string; readonly sessionStore: ClaudeSessionStore }): Promise<void>;
  forkSession(id: string, options: { readonly dir: string; readonly sessionStore: ClaudeSessionStore }): Promise<{ readonly sessionId: string }>;
  deleteSession(id: string, options: { readonly dir: string; readonly sessionStore: ClaudeSessionStore }): Promise<void>;
}

let sdkFile: string;
let sdk: ClaudeSdk;
let python: string;
beforeAll(async () => {
  sdkFile = await requireService("claude-sdk.mjs");
  sdk = await import(pathToFileURL(sdkFile).href);
  python = await requireService("claude-sdk-python.mjs");
});

const inPython = async (args: readonly string[]): Promise<{ readonly stdout: string; readonly stderr: string; readonly code?: number }> =>
  run(python, [...args], { cwd: pythonFolder, env: { PATH: process.env.PATH, PYTHONPATH: join(pythonFolder, "src"), PYTHONDONTWRITEBYTECODE: "1" } }).catch(
    (error: { readonly stdout: string; readonly stderr: string; readonly code: number }) => error,
  );

/** A conversation as the SDK writes it: a chain of messages, a title and a summary. */
function conversation(sessionId: string, cwd: string): ClaudeSessionEntry[] {
  let parentUuid: string | null = null;
  const message = (type: "user" | "assistant", content: unknown, i: number): ClaudeSessionEntry => {
    const uuid = randomUUID();
    const entry = {
      type,
      uuid,
      parentUuid,
      sessionId,
      cwd,
      isSidechain: false,
      timestamp: new Date(1_790_000_000_000 + i * 1_000).toISOString(),
      message: { role: type, content },
    };
    parentUuid = uuid;
    return entry;
  };
  return [
    message("user", "Which index is missing?", 1),
    message("assistant", [{ type: "text", text: "The one on orders.paid_at." }], 2),
    message("user", "Add it.", 3),
    message("assistant", [{ type: "text", text: "Added." }], 4),
  ];
}

for (const on of sharedEngines)
  describe(`the Claude Agent SDK on ${on.name}`, () => {
    test("its Python package's contracts hold, all of them, and one of them catches a planted defect", async () => {
      await using server = await startHttpProcess(await sharedBuild("executable"), ["--store", await on.freshUrl(), "--rate-limit", "1000000"]);
      const { stdout, stderr } = await inPython(["tests/claude_contracts.py", server.url]);
      expect({ stdout, stderr }).toEqual({ stdout: "14 contracts\n", stderr: "" });
      const planted = await inPython(["tests/claude_contracts.py", server.url, "forgetful"]);
      expect(planted).toMatchObject({ code: 1, stderr: expect.stringContaining("AssertionError") });
    });

    test("its own functions list, read, rename, fork and delete sessions as with its store in memory", async () => {
      await using holdfast = await openHoldfast({ store: await on.freshUrl() });
      const told: unknown[] = [];
      const dir = await temporaryFolder();
      const id = randomUUID();
      const entries = conversation(id, dir);
      const ours = new HoldfastSessionStore(holdfast, { foldSessionSummary: sdk.foldSessionSummary });
      for (const store of [ours, new sdk.InMemorySessionStore()]) {
        // The SDK derives the project's key from the folder; which one it is shows in its first call.
        let projectKey = "";
        await sdk.listSessions({ dir, sessionStore: new Proxy(store, { get: (target, name) => spied(target, name, (key) => (projectKey = key)) }) });
        const sessionStore = store;
        const options = { dir, sessionStore };
        await store.append({ projectKey, sessionId: id }, entries.slice(0, 2));
        await store.append({ projectKey, sessionId: id }, entries.slice(2));
        await store.append({ projectKey, sessionId: id, subpath: "subagents/agent-1" }, entries.slice(0, 2));
        const listed = async () =>
          (await sdk.listSessions(options))
            .map(({ lastModified: _, sessionId, ...rest }) => ({ ...rest, isFirst: sessionId === id }))
            .sort((a, b) => Number(b.isFirst) - Number(a.isFirst));
        const before = await listed();
        await sdk.renameSession(id, "The missing index", options);
        const renamed = await listed();
        const messages = await sdk.getSessionMessages(id, options);
        const fork = await sdk.forkSession(id, options);
        const forked = (await sdk.getSessionMessages(fork.sessionId, options)).length;
        const both = await listed();
        await sdk.deleteSession(id, options);
        told.push({ before, renamed, messages, forked, both, after: await listed(), subkeys: await store.listSubkeys({ projectKey, sessionId: id }) });
      }
      await ours.close();
      expect(told[0]).toEqual(told[1]);
      expect(told[0]).toMatchObject({ before: [{ firstPrompt: "Which index is missing?" }], renamed: [{ customTitle: "The missing index" }], forked: 4, subkeys: [] });
    });

    test("a session that a host in one language wrote is continued by a host in the other", async () => {
      await using server = await startHttpProcess(await sharedBuild("executable"), ["--store", await on.freshUrl(), "--rate-limit", "1000000"]);
      await using holdfast = await connectHoldfast(server.url, { namespace: "both" });
      const key = { projectKey: "/srv/äpp~", sessionId: randomUUID() };
      const store = new HoldfastSessionStore(holdfast, { host: "typescript", foldSessionSummary: sdk.foldSessionSummary });
      await store.append(key, [{ type: "user", uuid: "a", text: "von TypeScript 🙂", timestamp: "2026-01-01T00:00:00Z", message: { role: "user", content: "Hello" } }]);
      const continueInPython = () => inPython(["tests/claude_continue.py", server.url, "both", key.projectKey, key.sessionId]);
      const refused = await continueInPython();
      expect(JSON.parse(refused.stdout)).toMatchObject({ code: "claim_held", by: store.holder });
      await store.release(key.sessionId);
      expect(JSON.parse((await continueInPython()).stdout)).toEqual({ loaded: ["von TypeScript 🙂"], summary: "Hello" });
      expect((await store.load(key))?.map(({ text }) => text)).toEqual(["von TypeScript 🙂", "from Python"]);
      // What Python appended is folded in as soon as this language appends again.
      expect(await store.listSessionSummaries?.(key.projectKey)).toEqual([]);
      await store.append(key, [{ type: "user", uuid: "c" }]);
      expect(await store.listSessionSummaries?.(key.projectKey)).toMatchObject([{ sessionId: key.sessionId, data: { lastPrompt: "from Python" } }]);
      await store.close();
    });
  });

const spied = (target: ClaudeSessionStore, name: string | symbol, saw: (projectKey: string) => void): unknown => {
  const value = Reflect.get(target, name) as unknown;
  if (typeof value !== "function") return value;
  return (first: unknown, ...rest: unknown[]) => {
    if (typeof first === "string") saw(first);
    return value.call(target, first, ...rest) as unknown;
  };
};

test("the SDK's types accept the store, its reader and the SDK's own fold function, and a planted difference is found", async () => {
  const consumer = await temporaryFolder();
  await mkdir(join(consumer, "node_modules", "@anthropic-ai"), { recursive: true });
  await symlink(dirname(sdkFile), join(consumer, "node_modules", "@anthropic-ai", "claude-agent-sdk"));
  const compile = async (more: string): Promise<string> => {
    await writeFile(
      join(consumer, "use.ts"),
      `import { foldSessionSummary, type Options, type SessionStore } from "@anthropic-ai/claude-agent-sdk";
import { HoldfastSessionStore } from ${JSON.stringify(join(root, "src/claude.ts"))};
import { openHoldfast } from ${JSON.stringify(join(root, "src/index.ts"))};
const store = new HoldfastSessionStore(await openHoldfast({ store: "memory:" }), { foldSessionSummary });
export const options: Options = { sessionStore: store, resume: "id" };
export const reader: SessionStore = store.reader;
${more}`,
    );
    const compilerOptions = {
      module: "esnext",
      moduleResolution: "bundler",
      target: "es2023",
      lib: ["es2024", "esnext.disposable", "esnext.collection", "esnext.array", "dom"],
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      types: ["node"],
      typeRoots: [join(root, "node_modules", "@types")],
    };
    await writeFile(join(consumer, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["use.ts", join(root, "lua-files.d.ts")] }));
    const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
    return (await run(process.execPath, [tsc, "-p", consumer], { maxBuffer: 16_777_216 }).catch((error: { readonly stdout: string }) => error)).stdout;
  };
  expect(await compile("")).toBe("");
  expect(await compile("export const broken: SessionStore = { append: store.append, load: async () => 1 };")).toContain("use.ts");
});
