import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { publint } from "publint";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { version } from "../src/kernel/version.ts";
import { linkPackages } from "./support/link-package.ts";
import { strayTextIn } from "./support/stray-text.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
const readManifest = async () => JSON.parse(await readFile(join(root, "package.json"), "utf8"));

const serverDrivers = ["ioredis", "pg"];
const frameworks = ["@langchain/core", "@langchain/langgraph-checkpoint"];

/** The parts of the bundle that may meet a network, each loaded only when the user asks for it, and with what. */
const connectingParts: Readonly<Record<string, readonly string[]>> = {
  // `holdfast serve` listens; "fetch" is for the keys of a configured issuer.
  "compose-serving": ["node:http", "node:net", "fetch"],
  // The SDK's hand-over of Node's requests; its "fetch" is the name of its own entry.
  "sdk-http-handler": ["node:http2", "fetch"],
  // `holdfast connect URL` and `holdfast proxy --url URL`.
  "http-client": ["node:http", "node:https"],
  // A configured collector of traces.
  "open-tracer": ["node:http", "node:https"],
  // A configured endpoint of an embedding model.
  "open-embeddings": ["fetch"],
  // Asks a Redis whether it speaks TLS at all.
  "redis-engine": ["node:net"],
};

interface Sbom {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly metadata: { readonly component: { readonly name: string } };
  readonly components: readonly { readonly name: string; readonly version: string; readonly purl: string; readonly licenses?: readonly unknown[] }[];
}

describe("the package", () => {
  let folder: string;
  let files: readonly { readonly path: string; readonly mode: number }[];
  beforeAll(async () => {
    await stat(join(root, "dist", "main.js")).catch(() => {
      throw new Error("dist/ is missing; these tests look at the built package. Run: npm run build");
    });
    folder = await mkdtemp(join(tmpdir(), "holdfast-package-"));
    const { stdout } = await run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], { cwd: root });
    // npm 11 answers a list, later ones a map by package name.
    const [packed] = Object.values(JSON.parse(stdout) as Record<string, { filename: string; files: typeof files }>);
    files = packed?.files ?? [];
    await run("tar", ["-xzf", packed?.filename ?? ""], { cwd: folder });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test("holds the build, the documents that its README leads to, and nothing else", () => {
    const paths = files.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        "dist/main.js",
        "dist/index.js",
        "dist/client.js",
        "dist/langgraph.js",
        "dist/dashboard/index.html",
        "dist/types/index.d.ts",
        "dist/THIRD-PARTY-NOTICES.txt",
        "dist/sbom.cdx.json",
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
        "docs/guarantees.md",
      ]),
    );
    expect(
      paths
        .filter(
          (path) =>
            !/^dist\/([\w-]+\.js|dashboard\/(index\.html|assets\/[\w-]+\.(js|css|svg))|chunks\/[\w-]+\.js|types\/.+\.d\.ts|THIRD-PARTY-NOTICES\.txt|sbom\.cdx\.json)$|^docs\/((decisions\/)?[\w-]+\.md|images\/[\w-]+\.png)$/.test(
              path,
            ),
        )
        .sort(),
    ).toEqual(["ARCHITECTURE.md", "CHANGELOG.md", "LICENSE", "README.md", "package.json"]);
  });

  test("names and lists the licence of every bundled package, including packages inside another package", async () => {
    const notices = await readFile(join(folder, "package", "dist", "THIRD-PARTY-NOTICES.txt"), "utf8");
    const inside = ["ajv", "ajv-formats", "content-type", "fast-deep-equal", "fast-uri", "json-schema-traverse"];
    for (const name of ["@modelcontextprotocol/server", "zod", "preact", ...inside]) expect(notices).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(`, "m"));
    expect(notices).toContain("The Fastify team");
    const { bomFormat, specVersion, metadata, components } = JSON.parse(await readFile(join(folder, "package", "dist", "sbom.cdx.json"), "utf8")) as Sbom;
    expect({ bomFormat, specVersion, name: metadata.component.name }).toEqual({ bomFormat: "CycloneDX", specVersion: "1.6", name: "holdfast" });
    const names = components.map(({ name }) => name);
    const noticed = Array.from(notices.matchAll(/^-{80}\n(\S+) /gm), ([, name]) => name);
    expect(noticed.length).toBeGreaterThan(15);
    expect(noticed.filter((name) => !names.includes(name as string))).toEqual([]);
    // Drivers are installed beside the package, never bundled into it.
    expect(noticed.filter((name) => ["@photostructure/sqlite", ...serverDrivers].includes(name as string))).toEqual([]);
    expect(names).toEqual(expect.arrayContaining(["@photostructure/sqlite", "pg", "ioredis"]));
    expect(names).not.toContain("vitest");
    expect(new Set(components.map(({ purl }) => purl)).size).toBe(components.length);
    for (const { purl, version, licenses } of components)
      expect({ purl, version, licenses }).toEqual({ purl: expect.stringMatching(/^pkg:npm\//), version: expect.any(String), licenses: expect.any(Array) });
  });

  test("runs nothing at install and brings three dependencies, pinned: the drivers of the engines", async () => {
    const { scripts, dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = await readManifest();
    for (const hook of ["preinstall", "install", "postinstall", "prepare", "preprepare", "postprepare"]) expect(scripts).not.toHaveProperty(hook);
    expect({ ...dependencies, ...optionalDependencies }).toEqual(
      Object.fromEntries(["@photostructure/sqlite", ...serverDrivers].map((name) => [name, expect.stringMatching(/^\d+\.\d+\.\d+$/)])),
    );
    // Frameworks are not brought: whoever imports the entry for one has it.
    expect(Object.keys(peerDependencies)).toEqual(frameworks);
    expect(peerDependenciesMeta).toEqual(Object.fromEntries(frameworks.map((name) => [name, { optional: true }])));
  });

  test("its command is executable and says the version", async () => {
    const main = join(folder, "package", "dist", "main.js");
    expect(files.find(({ path }) => path === "dist/main.js")?.mode).toBe(0o755);
    expect(await readFile(main, "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/);
    const { stdout } = await run(process.execPath, [main, "--version"]);
    expect(stdout).toBe(`${version}\n`);
  });

  test("its version is one: package.json, the code and the changelog agree", async () => {
    expect((await readManifest()).version).toBe(version);
    expect(await readFile(join(root, "CHANGELOG.md"), "utf8")).toContain(`\n## ${version}`);
  });

  test("reaches for files, processes and SQLite, and for modules that could open a connection only in the parts that exist for one the user asked for (G17)", async () => {
    // The dashboard's page runs in a browser, whose tests see every request it makes.
    const scripts = files.filter(({ path }) => path.endsWith(".js") && !path.startsWith("dist/dashboard/"));
    expect(scripts.length).toBeGreaterThan(3); // A checker that sees no files passes everything.
    const texts = await Promise.all(scripts.map(({ path }) => readFile(join(folder, "package", path), "utf8")));
    // Only what can be a module's name: a sentence that ends with "import" is followed by other code.
    const importedBy = (text: string): string[] => [...text.matchAll(/(?:\bfrom|\bimport\(?|getBuiltinModule\()\s*"([@\w][\w@/:.-]*)"/g)].map(([, name]) => name as string);
    expect(texts.flatMap(importedBy)).toContain("node:fs");
    const connecting = ["dgram", "dns", "dns/promises", "http", "http2", "https", "inspector", "inspector/promises", "net", "quic", "tls"];
    const suspect = (name: string): boolean => (name.startsWith("node:") ? connecting.includes(name.slice("node:".length)) : name !== "@photostructure/sqlite");
    const unexpected = scripts.flatMap(({ path }, i) => {
      const part = /^dist\/chunks\/(.+)-\w+\.js$/.exec(path)?.[1] ?? path;
      const text = texts[i] as string;
      const met = importedBy(text).filter((name) => suspect(name) && !serverDrivers.includes(name));
      if (/\b(?:fetch|WebSocket|EventSource)\(/.test(text)) met.push("fetch");
      const own = path === "dist/langgraph.js" ? frameworks : connectingParts[part];
      return met.filter((name) => !own?.includes(name)).map((name) => `${path}: ${name}`);
    });
    expect(unexpected).toEqual([]);
    expect(importedBy(texts[scripts.findIndex(({ path }) => path === "dist/langgraph.js")] as string)).toContain("@langchain/langgraph-checkpoint");
    // And each of them is there: a part that was renamed or lost its reason leaves the table.
    expect(Object.keys(connectingParts).filter((part) => !scripts.some(({ path }) => path.startsWith(`dist/chunks/${part}-`)))).toEqual([]);
    // Loaded late: nothing that a start without a server runs through names them.
    expect(texts.filter((text) => /\bfrom\s*"(?:pg|ioredis)"/.test(text))).toEqual([]);
  });

  test("its client for servers is one small file that imports nothing, and its types need neither Node's nor any other package", async () => {
    const client = await readFile(join(folder, "package", "dist", "client.js"), "utf8");
    const reaches = (text: string): boolean => /\bimport\b\s*[("{*\w]|\bfrom\s*"|\brequire\(|\bprocess\.|\bBuffer\b/.test(text);
    expect(reaches(client)).toBe(false);
    expect(reaches('import{a}from"node:fs";')).toBe(true);
    expect(gzipSync(client).length).toBeLessThan(16_384);
    const consumer = await mkdtemp(join(folder, "page-"));
    await mkdir(join(consumer, "node_modules"));
    await symlink(join(folder, "package"), join(consumer, "node_modules", "holdfast"));
    const compilerOptions = { module: "esnext", moduleResolution: "bundler", target: "es2022", lib: ["es2023", "dom", "esnext.disposable"], strict: true, noEmit: true, types: [] };
    await writeFile(join(consumer, "tsconfig.json"), JSON.stringify({ compilerOptions: { ...compilerOptions, preserveSymlinks: true }, include: ["*.ts"] }));
    const compile = async (call: string): Promise<string> => {
      await writeFile(
        join(consumer, "use.ts"),
        `import { connectHoldfast, runWorkflow } from "holdfast/client";\nconst holdfast = await connectHoldfast("http://127.0.0.1:1");\n${call}\n`,
      );
      const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
      return (await run(process.execPath, [tsc, "-p", consumer], { maxBuffer: 16_777_216 }).catch((error: { stdout: string }) => error)).stdout;
    };
    expect(await compile('(await runWorkflow(holdfast, { name: "w", input: { n: 1 } }, (step, { input }) => step.run("s", () => input.n))).status satisfies string;')).toBe("");
    expect(await compile('await runWorkflow(holdfast, { name: "w", input: { n: 1 } }, (step, { input }) => input.missing);')).toContain("TS2339");
  });

  test("satisfies publint", async () => {
    const { messages } = await publint({ pkgDir: join(folder, "package"), strict: true, pack: false });
    expect(messages).toEqual([]);

    // And it would have said something: the same package with an entry point that is not there.
    const broken = await mkdtemp(join(folder, "broken-"));
    await cp(join(folder, "package"), broken, { recursive: true });
    await rm(join(broken, "dist", "index.js"));
    expect((await publint({ pkgDir: broken, strict: true, pack: false })).messages.map(({ code }) => code)).toContain("FILE_DOES_NOT_EXIST");
  });

  test.each([
    { module: "nodenext", moduleResolution: "nodenext" },
    { module: "esnext", moduleResolution: "bundler" },
  ])("its types hold in a strict consumer with $moduleResolution resolution, and catch a wrong call", async (resolution) => {
    const compile = await strictConsumer(resolution);
    const opening = ['import { openHoldfast } from "holdfast";', 'await using holdfast = await openHoldfast({ store: "memory:" });'];
    expect(await compile([...opening, 'const result = await holdfast.state.set("key", { n: 1 });', "if (result.ok) result.version satisfies number;"])).toBe("");
    expect(await compile([...opening, "await holdfast.state.set(1, 2);"])).toContain("TS2345");
  });

  test("the types of its LangGraph entry hold in a strict consumer that has LangGraph's interfaces, and catch a wrong call", async () => {
    const compile = await strictConsumer({ module: "nodenext", moduleResolution: "nodenext", skipLibCheck: true }, frameworks);
    const opening = [
      'import type { BaseCheckpointSaver, BaseStore } from "@langchain/langgraph-checkpoint";',
      'import { openHoldfast } from "holdfast";',
      'import { HoldfastSaver, HoldfastStore } from "holdfast/langgraph";',
      'const holdfast = await openHoldfast({ store: "memory:" });',
      "const saver: BaseCheckpointSaver = new HoldfastSaver(holdfast);",
    ];
    expect(await compile([...opening, "const store: BaseStore = new HoldfastStore(holdfast);", "void [saver, store];"])).toBe("");
    expect(await compile([...opening, "await saver.deleteThread(1);"])).toContain("TS2345");
  });

  /** Compiles programs against the packed package, with nothing else than Node's types and the packages named. */
  async function strictConsumer(options: Readonly<Record<string, unknown>>, packages: readonly string[] = []): Promise<(lines: readonly string[]) => Promise<string>> {
    const consumer = await mkdtemp(join(folder, "consumer-"));
    await linkPackages(["@types/node", ...packages], { project: root, consumer });
    await symlink(join(folder, "package"), join(consumer, "node_modules", "holdfast"));
    const compilerOptions = { ...options, target: "es2022", lib: ["es2023", "esnext.disposable"], strict: true, noEmit: true, types: ["node"], preserveSymlinks: true };
    await writeFile(join(consumer, "package.json"), '{"type":"module"}');
    await writeFile(join(consumer, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
    return async (lines) => {
      await writeFile(join(consumer, "use.ts"), lines.join("\n"));
      const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
      const { stdout } = await run(process.execPath, [tsc, "-p", consumer, "--listFiles"], { maxBuffer: 16_777_216 }).catch((error: { stdout: string }) => error);
      const isFile = (line: string): boolean => /^\/.*\.[cm]?ts$/.test(line);
      const printed = stdout.split("\n").filter((line) => line !== "");
      // Nothing from the folders above the consumer: what another machine may not have proves nothing.
      const own = [`${consumer}/`, join(root, "node_modules", "@typescript"), join(root, "node_modules", "typescript")];
      expect(printed.filter((line) => isFile(line) && !own.some((place) => line.startsWith(place)))).toEqual([]);
      expect(printed.filter((line) => line.startsWith(join(consumer, "node_modules"))).length).toBeGreaterThan(10);
      return printed.filter((line) => !isFile(line)).join("\n");
    };
  }
});

describe("the repository", () => {
  test("contains no path of one machine, no registry address and nothing left to do", async () => {
    const { stdout } = await run("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], { cwd: root, maxBuffer: 16_777_216 });
    const paths = stdout.split("\0").filter((path) => path !== "");
    expect(paths.length).toBeGreaterThan(100); // A checker that sees no files passes everything.
    const found: string[] = [];
    for (const path of paths) {
      const text = await readFile(join(root, path), "utf8").catch(() => "");
      found.push(...strayTextIn(path, text));
    }
    expect(found).toEqual([]);
  });

  test.each([
    ["a home folder", ["see /ro", "ot/notes"]],
    ["a user's folder", ["cd /ho", "me/somebody/project"]],
    ["a registry address", ['"https://registry.npm', 'js.org/zod"']],
    ["a lock file entry with an address", ['"resol', 'ved": "https://example.org/x.tgz"']],
    ["something left to do", ["// TO", "DO: later"]],
    ["a numbered report", ["fixes #", "12"]],
  ])("the check above would find %s", (_what, parts) => {
    expect(strayTextIn("planted.ts", `one line\n${parts.join("")}\n`)).toEqual([expect.stringMatching(/^planted\.ts:2 /)]);
  });

  test("has no unused file, export or dependency", async () => {
    const knip = join(root, "node_modules", "knip", "bin", "knip.js");
    const report = await run(process.execPath, [knip, "--no-progress", "--treat-config-hints-as-errors"], { cwd: root }).then(
      () => "",
      ({ stdout, stderr }: { stdout: string; stderr: string }) => `${stdout}${stderr}`,
    );
    expect(report).toBe("");
  });

  test("its lock file is complete for every platform, so that npm ci accepts it", async () => {
    const { stdout } = await run(process.execPath, [join(root, "scripts", "complete-lock.mjs"), "--check"]).catch((error: { stdout: string }) => error);
    expect(stdout).toBe("");
  });

  test("continuous integration runs the README's test command in the sandbox, then the campaigns", async () => {
    // The sandbox finds them in this order: the second one is what it calls "test".
    expect((await readFile(join(root, "README.md"), "utf8")).match(/^npm ci && npm .*$/gm)).toEqual(["npm ci && npm run try", "npm ci && npm test"]);
    expect((await readFile(join(root, ".ci", "run"), "utf8")).trim().split("\n").at(-1)).toMatch(/^node scripts\/fresh\.mjs test campaigns --scale [\d.]+$/);
  });
});
