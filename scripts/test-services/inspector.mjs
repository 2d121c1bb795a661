// The official MCP Inspector, pinned, in .cache/inspector. `node scripts/test-services/inspector.mjs` prints where its launcher is.
// It needs Node 22.19 or newer: run it with the Node of node24.mjs. Install scripts are left out: the command line needs none.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const inspectorVersion = "2.12.0";
const folder = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), ".cache", "inspector");
const installed = join(folder, "node_modules", "@modelcontextprotocol", "inspector");
const launcher = join(installed, "clients", "launcher", "build", "index.js");

/** Path of the Inspector's launcher; installs it first where it is missing or of another version. */
function requireInspector() {
  if (foundVersion() !== inspectorVersion) install();
  if (foundVersion() !== inspectorVersion || !existsSync(launcher)) throw new Error(`The Inspector in ${folder} is not complete. Remove that folder and try again.`);
  return launcher;
}

function foundVersion() {
  const path = join(installed, "package.json");
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")).version : undefined;
}

function install() {
  mkdirSync(folder, { recursive: true });
  const named = `@modelcontextprotocol/inspector@${inspectorVersion}`;
  const { status, stderr } = spawnSync(
    "npm",
    ["install", "--prefix", folder, "--no-save", "--no-package-lock", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", named],
    {
      encoding: "utf8",
      shell: process.platform === "win32",
    },
  );
  if (status === 0) return;
  throw new Error(
    `The stories need the MCP Inspector, and npm could not install ${named}. Make the npm registry reachable, or run: npm install --prefix .cache/inspector ${named}\n${stderr}`,
  );
}

try {
  process.stdout.write(`${requireInspector()}\n`);
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
