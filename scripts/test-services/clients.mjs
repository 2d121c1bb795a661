// Real MCP clients, pinned, in .cache/clients: Claude Code, opencode and Gemini CLI. `node scripts/test-services/clients.mjs` prints that folder.
// Install scripts are skipped: the first two have their programs in one package per platform, the third is plain JavaScript.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const versions = { "@anthropic-ai/claude-code": "2.1.325", "opencode-ai": "1.18.33", "@google/gemini-cli": "0.61.0" };
const folder = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), ".cache", "clients");
const platform = process.platform === "win32" ? "win32" : process.platform;
const ending = process.platform === "win32" ? ".exe" : "";

/** Where each client's program is. Gemini's is a script for Node 20 or newer. */
const programs = {
  claude: join(folder, "node_modules", "@anthropic-ai", `claude-code-${platform}-${process.arch}`, `claude${ending}`),
  opencode: join(folder, "node_modules", `opencode-${platform === "win32" ? "windows" : platform}-${process.arch}`, "bin", `opencode${ending}`),
  gemini: join(folder, "node_modules", "@google", "gemini-cli", "bundle", "gemini.js"),
};

/** The folder with all of them; installs those that are missing or of another version. */
export function requireClients() {
  if (!complete()) install();
  const missing = Object.entries(programs).find(([, path]) => !existsSync(path));
  if (!complete()) throw new Error(`The clients in ${folder} are incomplete${missing === undefined ? "" : ` (${missing[0]} is missing)`}. Remove that folder and try again.`);
  writeFileSync(join(folder, "programs.json"), `${JSON.stringify(programs)}\n`);
  return folder;
}

function complete() {
  return Object.entries(versions).every(([name, version]) => foundVersion(name) === version) && Object.values(programs).every((path) => existsSync(path));
}

function foundVersion(name) {
  const path = join(folder, "node_modules", name, "package.json");
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")).version : undefined;
}

function install() {
  mkdirSync(folder, { recursive: true });
  // A separate package.json, so that npm does not walk up and change the project's.
  if (!existsSync(join(folder, "package.json"))) writeFileSync(join(folder, "package.json"), '{"private":true}\n');
  const named = Object.entries(versions).map(([name, version]) => `${name}@${version}`);
  const { status, stderr } = spawnSync("npm", ["install", "--prefix", folder, "--no-save", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", ...named], {
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  if (status === 0) return;
  throw new Error(
    `The stories need real clients, and npm could not install ${named.join(", ")}. Make the npm registry reachable, or run: npm install --prefix .cache/clients --ignore-scripts ${named.join(" ")}\n${stderr}`,
  );
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) process.stdout.write(`${requireClients()}\n`);
