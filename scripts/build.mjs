// Builds dist/: the executable, the library, its declarations, the dashboard's page, and the notices and the list (SBOM) of the bundled packages.
// `node scripts/build.mjs` builds the package; `--out DIR --entry FILE …` bundles other entry points (no declarations), to try the bundler out.
import { spawnSync } from "node:child_process";
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { buildDashboard } from "./build-dashboard.mjs";
import { bundledPackages, cycloneDx, embeddedPackages, noticesOf, noticesText } from "./third-party.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
// Native code cannot be bundled, and only users of PostgreSQL or Redis need a driver. Everything else is bundled, because one file starts far faster than a tree of
// packages.
const external = ["@photostructure/sqlite", "pg", "ioredis"];
// Frameworks that a program brings itself if it imports the entry for them. Nothing else may import them.
const peers = ["@langchain/core", "@langchain/langgraph-checkpoint"];
// Bundled CommonJS packages call `require` for Node's own modules; an ES module has none unless it creates one.
const requireBanner = 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);';

const { values: flags } = parseArgs({ options: { out: { type: "string" }, entry: { type: "string", multiple: true } } });
const target = resolve(root, flags.out ?? "dist");
// Built in a separate folder and then renamed, so that a running test or server never finds half a build.
const out = flags.out === undefined ? join(root, "build", `dist.${process.pid}`) : `${target}.${process.pid}`;
const entryPoints = flags.entry?.map((path) => resolve(path)) ?? [
  join(root, "src/main.ts"),
  join(root, "src/index.ts"),
  join(root, "src/langgraph.ts"),
  join(root, "src/claude.ts"),
];

try {
  await mkdir(out, { recursive: true });
  const { metafile } = await bundle();
  if (flags.entry === undefined) await bundleClient();
  await finishExecutable(join(out, "main.js"));
  const bundled = flags.entry === undefined ? [metafile, await buildDashboard(join(out, "dashboard"))] : [metafile];
  await writeThirdParty(bundled);
  if (flags.entry === undefined) await emitDeclarations(join(out, "types"));
  await moveIntoPlace();
} finally {
  await rm(out, { recursive: true, force: true });
}

async function writeThirdParty(metafiles) {
  const notices = await noticesOf(root, bundledPackages(root, metafiles), await embeddedPackages(root, metafiles));
  const [manifest, lock] = await Promise.all(["package.json", "package-lock.json"].map(async (file) => JSON.parse(await readFile(join(root, file), "utf8"))));
  await writeFile(join(out, "THIRD-PARTY-NOTICES.txt"), noticesText(notices));
  await writeFile(join(out, "sbom.cdx.json"), `${JSON.stringify(cycloneDx(manifest, lock, notices), null, 2)}\n`);
}

async function moveIntoPlace() {
  const old = `${out}.old`;
  await rename(target, old).catch((error) => {
    if (error.code !== "ENOENT") throw error;
  });
  await mkdir(dirname(target), { recursive: true });
  await rename(out, target);
  await rm(old, { recursive: true, force: true });
}

/** A first pass finds out whether any CommonJS is included, so that the banner is added only when it is needed. */
async function bundle() {
  const options = {
    absWorkingDir: root,
    entryPoints,
    outdir: out,
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    // jsonc-parser's main file loads its parts in a way that only Node understands; its module file can be bundled.
    mainFields: ["module", "main"],
    minify: true,
    legalComments: "none",
    external: [...external, ...peers],
    // Scripts for Redis are included as text.
    loader: { ".lua": "text" },
    chunkNames: "chunks/[name]-[hash]",
    metafile: true,
    logLevel: "warning",
  };
  const first = await build({ ...options, write: false });
  const needsRequire = Object.values(first.metafile.inputs).some((input) => input.format === "cjs");
  return build({ ...options, banner: needsRequire ? { js: requireBanner } : {} });
}

/** Bundled separately and for no particular runtime: an import from Node is an error here, and no banner for Node is added. */
async function bundleClient() {
  await build({
    absWorkingDir: root,
    entryPoints: [join(root, "src/client.ts")],
    outdir: out,
    bundle: true,
    format: "esm",
    platform: "neutral",
    target: "es2022",
    minify: true,
    legalComments: "none",
    logLevel: "warning",
  });
}

async function finishExecutable(path) {
  const text = await readFile(path, "utf8").catch((error) => {
    if (error.code === "ENOENT" && flags.entry !== undefined) return undefined;
    throw error;
  });
  if (text === undefined) return;
  if (!text.startsWith("#!")) await writeFile(path, `#!/usr/bin/env node\n${text}`);
  await chmod(path, 0o755);
}

async function emitDeclarations(folder) {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const { status } = spawnSync(process.execPath, [tsc, "-p", join(root, "tsconfig.build.json"), "--outDir", folder], { stdio: "inherit" });
  if (status !== 0) throw new Error("tsc could not write the declarations; its messages are above.");
  // tsc keeps the `.ts` of relative imports in declarations; only `.js` works with every consumer's resolver.
  const kept = new Set();
  await keepDeclarations(folder, ["index.d.ts", "client.d.ts", "claude.d.ts"], external, kept);
  // Last: everything that the entries above need has been read by then, and none of it named a framework.
  await keepDeclarations(folder, ["langgraph.d.ts"], [...external, ...peers], kept);
  // The remaining declarations describe internal files that no public name refers to.
  for (const item of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const file = join(item.parentPath, item.name);
    if (item.isFile() && !kept.has(file)) await rm(file);
  }
}

/** Follows the imports of these entries, which may name only packages that their user has. */
async function keepDeclarations(folder, entries, known, kept) {
  const isKnown = (name) => name.startsWith("node:") || known.some((each) => name === each || name.startsWith(`${each}/`));
  const queue = entries.map((entry) => join(folder, entry));
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (kept.has(file)) continue;
    kept.add(file);
    const text = await readFile(file, "utf8");
    for (const [, name] of text.matchAll(/(?:from|import\()\s*"([^"]+)"/g)) {
      if (name.startsWith(".")) queue.push(resolve(dirname(file), name.replace(/\.ts$/, ".d.ts")));
      else if (!isKnown(name)) throw new Error(`The public declarations need ${name} (in ${relative(folder, file)}), which a user of the package does not have.`);
    }
    await writeFile(file, text.replaceAll(/((?:from|import\()\s*"\.{1,2}\/[^"]*)\.ts"/g, '$1.js"'));
  }
}
