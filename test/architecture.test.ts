import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { FolderRule, Laws, SourceFile } from "./support/architecture-laws.ts";
import { brokenLaws, folderOf } from "./support/architecture-laws.ts";
import { exportedNames, sharedNames } from "./support/exported-names.ts";

const may = (folders: readonly string[], packages: readonly string[] = []): FolderRule => ({ folders, packages });
const storeInterface = ["kernel", "store"];
/** What every domain module stands on; a sibling is named in its own row. */
const domainBasis = [...storeInterface, "search", "domain"];
const anything: FolderRule = { folders: "anything", packages: [] };

/** Who may know whom. Imports point downwards; engines and domain never see each other; only the last rows know every layer. */
const laws: Laws = {
  folders: {
    kernel: may([]),
    store: may(["kernel"]),
    // What a namespace means, for engines that keep it in rows; the memory engine is apart, to be compared with.
    ledger: may(storeInterface),
    search: may(storeInterface, ["stemmer"]),
    engines: may([...storeInterface, "engines/*"]),
    "engines/memory": may(storeInterface),
    "engines/sqlite": may([...storeInterface, "ledger"], ["@photostructure/sqlite"]),
    "engines/postgres": may([...storeInterface, "ledger"], ["pg"]),
    "engines/redis": may([...storeInterface, "ledger", "engines/redis/scripts"], ["ioredis"]),
    domain: may([...storeInterface, "search"]),
    "domain/admin": may(domainBasis),
    "domain/history": may(domainBasis),
    "domain/identity": may(domainBasis),
    "domain/knowledge": may(domainBasis),
    "domain/leases": may(domainBasis),
    // What may be found by its text, from everything that is written.
    "domain/findable": may([...domainBasis, "domain/journal", "domain/knowledge", "domain/research"]),
    // What a copy outside the store holds; how files are made is behind its port.
    "domain/mirror": may([...domainBasis, "domain/knowledge", "domain/research"]),
    "domain/research": may(domainBasis),
    "domain/sessions": may(domainBasis),
    "domain/blobs": may(domainBasis),
    // An entry may name blobs.
    "domain/state": may([...domainBasis, "domain/blobs"]),
    "domain/journal": may([...domainBasis, "domain/workspace"]),
    // One pack from everything that remembers.
    "domain/resume": may([...domainBasis, "domain/effects", "domain/journal", "domain/knowledge", "domain/leases", "domain/research", "domain/workflows", "domain/workspace"]),
    // What people see at a glance, from everything that works.
    "domain/overview": may([
      ...domainBasis,
      "domain/effects",
      "domain/history",
      "domain/journal",
      "domain/knowledge",
      "domain/leases",
      "domain/research",
      "domain/workflows",
      "domain/workspace",
    ]),
    "domain/workspace": may(domainBasis),
    // An effect may begin under a lease or a claim, and belongs to a run.
    "domain/effects": may([...domainBasis, "domain/leases", "domain/workflows"]),
    // A claim is a lease; no other behaviour leans on a sibling.
    "domain/workflows": may([...domainBasis, "domain/leases"]),
    tools: may([...storeInterface, "domain/*"], ["zod"]),
    "surfaces/cli": may([...storeInterface, "domain/*", "tools", "transfer", "transfer/*"], ["zod"]),
    "surfaces/connect": may(["kernel", "surfaces/mcp"]),
    "surfaces/dashboard": may([...storeInterface, "domain", "domain/*", "tools"], ["zod"]),
    "surfaces/hooks": may([...storeInterface, "domain/*"]),
    // The one door of the network: it leads to the other surfaces that are reached by it.
    "surfaces/http": may([...storeInterface, "domain", "domain/*", "tools", "telemetry", "surfaces/mcp/http", "surfaces/dashboard"], ["jose"]),
    // In front of other servers: the bridge's parts carry the messages, the domain's effects record them.
    "surfaces/proxy": may([...storeInterface, "domain", "domain/effects", "surfaces/connect", "surfaces/mcp"]),
    "surfaces/library": may([...storeInterface, "domain/*"]),
    // The same interface on a server's store. It runs in browsers too: `client.ts` is built without Node, and of the domain it knows types alone.
    "surfaces/client": may([...storeInterface, "domain/*", "surfaces/library"]),
    // A session store of an agent framework, over the public interface alone; of the domain it knows types.
    "surfaces/claude": may([...storeInterface, "domain/*", "surfaces/library"]),
    // LangGraph's interfaces over the library's: what works embedded works on a server.
    "surfaces/langgraph": may([...storeInterface, "domain", "domain/*", "surfaces/library"], ["@langchain/core", "@langchain/langgraph-checkpoint"]),
    // The library's methods as routes, which the front serves beside the dashboard's.
    "surfaces/remote": may([...storeInterface, "domain", "domain/*", "tools", "surfaces/dashboard", "surfaces/library"], ["zod"]),
    "surfaces/mcp": may([...storeInterface, "domain", "tools"], ["zod", "@modelcontextprotocol/server"]),
    "surfaces/mcp/http": may([...storeInterface, "domain", "tools", "surfaces/mcp"], ["@modelcontextprotocol/server", "@modelcontextprotocol/node"]),
    // Metrics and spans: what is counted, kept and shown.
    telemetry: may([...storeInterface, "domain", "tools"]),
    // Models that the user runs: loaded only where a setting names one.
    embeddings: may([...storeInterface, "search", "domain/findable"]),
    // Clients' configuration files: beside everything, knows nothing of stores.
    install: may(["kernel"], ["jsonc-parser", "yaml"]),
    // What others kept, read and brought in through the domain; only SQLite's driver is lent, to read their files.
    transfer: may([...storeInterface, "domain", "domain/*", "transfer/*"]),
    // Whole stores, through the engines' port alone.
    "transfer/stores": may(storeInterface),
    // What is findable is the domain's to say: a past that is brought back needs it anew.
    "transfer/files": may([...storeInterface, "domain", "domain/*", "transfer/stores"]),
    "transfer/originals": may([...storeInterface, "domain/*", "engines/sqlite"], ["yaml"]),
    "transfer/mirror": may([...storeInterface, "domain", "domain/*"], ["yaml"]),
    // The model of every checker is the memory engine; the campaigns open a store by its URL.
    verify: may([...storeInterface, "domain/*", "engines", "verify/*"]),
    "verify/campaigns": may([...storeInterface, "domain/*", "verify/*"]),
    "verify/checkers": may([...storeInterface, "engines/memory"]),
    "verify/jobs": may([...storeInterface, "domain/*", "verify"]),
    "settings.ts": may(["kernel"], ["zod"]),
    "config.ts": may(["kernel", "settings.ts"]),
    "compose.ts": anything,
    "compose-proxy.ts": anything,
    "compose-serving.ts": anything,
    "main.ts": anything,
    "index.ts": anything,
    "claude.ts": anything,
    "client.ts": anything,
    "langgraph.ts": anything,
  },
  clockless: ["store", "ledger", "search", "domain", "tools"],
  withoutEngine: [
    "domain",
    "tools",
    "surfaces/dashboard",
    "surfaces/hooks",
    "surfaces/claude",
    "surfaces/library",
    "surfaces/client",
    "surfaces/langgraph",
    "surfaces/remote",
    "surfaces/mcp",
  ],
  checksWhatItReads: ["domain"],
  readsEnvironment: "config.ts",
  publicBarrels: ["index.ts", "client.ts", "langgraph.ts", "claude.ts"],
};

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const src = join(root, "src");
const pathsIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((item) => item.isFile())
    .map((item) =>
      join(item.parentPath, item.name)
        .slice(folder.length + 1)
        .replaceAll(sep, "/"),
    );
const paths = pathsIn(src);
const files: SourceFile[] = paths.filter((path) => path.endsWith(".ts")).map((path) => ({ path, source: readFileSync(join(src, path), "utf8") }));

describe("the house", () => {
  test("was looked at: every file of src was read, and it is TypeScript, or a script for Redis", () => {
    expect(files.length).toBeGreaterThan(30);
    expect(files.map((file) => file.path)).toEqual(paths.filter((path) => !/^engines\/redis\/scripts\/[a-z-]+\.lua$/.test(path)));
    expect(files.filter((file) => file.source.trim() === "")).toEqual([]);
  });

  test.each(files)("$path keeps the laws", (file) => {
    expect(brokenLaws(file, laws)).toEqual([]);
  });

  test("has no row in the table without a file", () => {
    const used = new Set(files.map((file) => folderOf(file.path)));
    expect(Object.keys(laws.folders).filter((folder) => !used.has(folder))).toEqual([]);
  });

  test("is made of small rooms: the middle file is short, and few are long", () => {
    const lengths = files.map((file) => file.source.split("\n").length).sort((a, b) => a - b);
    expect(lengths[Math.floor(lengths.length / 2)]).toBeLessThanOrEqual(180);
    expect(files.filter((file) => file.source.split("\n").length > 400).length).toBeLessThanOrEqual(Math.ceil(files.length / 20));
  });
});

describe("exported names", () => {
  const everyFile: SourceFile[] = ["src", "dashboard"].flatMap((folder) =>
    pathsIn(join(root, folder))
      .filter((path) => /\.tsx?$/.test(path))
      .map((path) => ({ path: `${folder}/${path}`, source: readFileSync(join(root, folder, path), "utf8") })),
  );

  test("are unique: no two files export a class, type or function of the same name", () => {
    expect(everyFile.flatMap(exportedNames).length).toBeGreaterThan(1_000);
    expect(sharedNames(everyFile)).toEqual([]);
  });

  test("are found where they are shared", () => {
    const file = (path: string, source: string): SourceFile => ({ path, source });
    const shared = (...sources: SourceFile[]): string[] => sharedNames(sources).map((line) => line.split(":", 1)[0] as string);
    expect(shared(file("src/kernel/a.ts", "export class Session {}"), file("dashboard/b.ts", "export interface Session { id: string }"))).toEqual(["Session"]);
    expect(shared(file("src/kernel/a.ts", "export const readText = () => 1;"), file("src/tools/b.ts", "export async function readText() {}"))).toEqual(["readText"]);
    expect(shared(file("src/kernel/a.ts", "export type Answer = 1;"), file("dashboard/b.tsx", "export function Answer() { return <p />; }"))).toEqual(["Answer"]);
    expect(shared(file("src/engines/sqlite/a.ts", "export class Store {}"), file("src/engines/redis/a.ts", "export class Store {}"))).toEqual(["Store"]);
    expect(shared(file("src/engines/sqlite/a.ts", "export function readLog() {}"), file("src/engines/sqlite/b.ts", "export function readLog() {}"))).toEqual(["readLog"]);
  });

  test("may be those of a function in several engines, of a value and its type in one file, or not exported", () => {
    const fine: SourceFile[] = [
      { path: "src/engines/sqlite/a.ts", source: "export function readLog() {}\nclass Own {}" },
      { path: "src/engines/redis/a.ts", source: "export const readLog = () => 1;\nclass Own {}" },
      { path: "src/store/a.ts", source: "export const state = { none: 0 } as const;\nexport type state = typeof state;" },
    ];
    expect(sharedNames(fine)).toEqual([]);
  });
});

describe("the laws find a planted fault", () => {
  const planted: [string, string, string, RegExp][] = [
    ["an upward import", "store/a.ts", 'import { x } from "../tools/tool.ts";', /may not know tools/],
    ["an engine that knows the domain", "engines/sqlite/a.ts", 'import type { x } from "../../domain/keyspace.ts";', /may not know domain/],
    ["the domain that knows an engine", "domain/state/a.ts", 'const x = await import("../../engines/memory/memory-engine.ts");', /may not know engines\/memory/],
    ["a sibling the table does not name", "domain/leases/a.ts", 'import { x } from "../workflows/workflows.ts";', /may not know domain\/workflows/],
    ["surfaces that know each other", "surfaces/cli/a.ts", 'import { x } from "../mcp/prompts.ts";', /may not know surfaces\/mcp/],
    ["an upward re-export", "kernel/a.ts", 'export { x } from "../store/store.ts";', /may not know store/],
    ["an import without its ending", "store/a.ts", 'import { x } from "./store";', /without its \.ts/],
    ["the memory engine that knows what it is compared with", "engines/memory/a.ts", 'import { x } from "../../ledger/plan-batch.ts";', /may not know ledger/],
    ["the domain that knows how rows are kept", "domain/state/a.ts", 'import { x } from "../../ledger/place.ts";', /may not know ledger/],
    ["a script for Redis where none belongs", "engines/sqlite/a.ts", 'import x from "../redis/scripts/commit.lua";', /may not know engines\/redis\/scripts/],
    ["a package where none belongs", "domain/state/a.ts", 'import * as z from "zod";', /the package zod/],
    ["a scoped package, by a sub-path", "tools/a.ts", 'import { x } from "@modelcontextprotocol/server/stdio";', /the package @modelcontextprotocol\/server/],
    ["a package loaded late", "store/a.ts", 'await import("@photostructure/sqlite");', /the package @photostructure\/sqlite/],
    ["process.env", "surfaces/cli/a.ts", "export const home = process.env.HOME;", /process\.env/],
    ["process.env in brackets", "surfaces/cli/a.ts", 'export const home = process["env"].HOME;', /process\.env/],
    ["process.env taken apart", "surfaces/cli/a.ts", "const { env } = process;", /process\.env/],
    ["the process module", "surfaces/cli/a.ts", 'import { env } from "node:process";', /node:process/],
    ["Date.now", "domain/state/a.ts", "export const now = () => Date.now();", /Date\.now/],
    ["new Date() without a time", "tools/a.ts", "export const now = () => new Date();", /new Date\(\)/],
    ["Math.random", "store/a.ts", "export const dice = () => Math.random();", /Math\.random/],
    ["a timer", "store/a.ts", "export const later = (f: () => void) => setTimeout(f, 5);", /setTimeout/],
    ["a read of an empty range", "domain/state/a.ts", 'export const now = (store) => store.read({ start: "", end: "" });', /position\(\)/],
    ["a stored value taken for what it should be", "domain/state/a.ts", "export const run = (entry) => entry.value as unknown as Run;", /as unknown as/],
    ["a tool with the engine of all namespaces", "tools/a.ts", 'import type { Engine } from "../store/store.ts";', /reaches every namespace/],
    ["a default export", "kernel/a.ts", "export default function f() {}", /default export/],
    ["a default export by another name", "kernel/a.ts", "const f = 1; export { f as default };", /default export/],
    ["a barrel", "store/a.ts", 'export * from "./store.ts";', /passes on names/],
    ["a barrel of names", "store/a.ts", 'export { limits } from "./limits.ts";', /passes on names/],
    ["a public name that is everything", "index.ts", 'export * from "./store/store.ts";', /one by one/],
    ["a file called utils", "store/utils.ts", "export const x = 1;", /called utils/],
    ["a folder called helpers", "domain/helpers/a.ts", "export const x = 1;", /called helpers/],
    ["a name in camel case", "store/myFile.ts", "export const x = 1;", /not kebab-case/],
    ["a folder that is not in the table", "plugins/a.ts", "export const x = 1;", /not in the table/],
    ["a file in src that is not in the table", "server.ts", "export const x = 1;", /not in the table/],
    ["something newer than Node 20", "store/a.ts", "export const g = Map.groupBy([1], (x) => x);", /groupBy/],
    ["a path of some machine", "kernel/a.ts", 'export const x = "/home/someone/x";', /path of some machine/],
    ["a file that cannot be parsed", "kernel/a.ts", "export const = ;", /cannot be parsed/],
  ];
  test.each(planted)("%s", (_name, path, source, words) => {
    expect(brokenLaws({ path, source }, laws).join("\n")).toMatch(words);
  });

  test("and what is allowed passes", () => {
    const fine: [string, string][] = [
      ["store/a.ts", 'import type { Clock } from "../kernel/clock.ts";\nimport { limits } from "./limits.ts";\nexport const day = (ms: number) => new Date(ms);'],
      ["domain/workflows/a.ts", 'import { guard } from "../leases/lease.ts";\nimport { x } from "../keyspace.ts";\nexport const y = x + guard;'],
      ["config.ts", 'import { x } from "./settings.ts";\nexport const home = process.env.HOME ?? x;'],
      ["settings.ts", 'import * as z from "zod";\nexport const s = z.string();'],
      ["kernel/a.ts", "export const now = () => Date.now();\nexport const later = () => setTimeout(() => {}, 1);"],
      ["index.ts", 'export { limits } from "./store/limits.ts";'],
    ];
    for (const [path, source] of fine) expect([path, brokenLaws({ path, source }, laws)]).toEqual([path, []]);
  });
});
