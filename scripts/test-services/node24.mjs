// Prints the path of a Node 24 whose built-in SQLite can safely share a file, fetching it once into .cache/node24 if necessary. With arguments, it runs them under
// that Node: `node scripts/test-services/node24.mjs node_modules/vitest/vitest.mjs run …`.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const version = "24.21.0";
const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const cache = join(root, ".cache", "node24");
const platform = process.platform === "win32" ? "win" : process.platform;
const packageName = `node-${platform}-${process.arch}`;
const fetched = join(cache, "node_modules", packageName, "bin", process.platform === "win32" ? "node.exe" : "node");

const node = [process.execPath, "node24", fetched].find(isRightNode) ?? install();
const args = process.argv.slice(2);
if (args.length === 0) process.stdout.write(`${node}\n`);
else process.exit(spawnSync(node, args, { cwd: root, stdio: "inherit" }).status ?? 1);

/** 24.21 or a later 24: earlier ones have a SQLite with the WAL-reset race. */
function isRightNode(path) {
  try {
    const [major, minor] = execFileSync(path, ["-p", "process.versions.node"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })
      .split(".")
      .map(Number);
    return major === 24 && minor >= 21;
  } catch {
    return false;
  }
}

/** npm has Node's binaries as packages, so only the registry is needed. */
function install() {
  mkdirSync(cache, { recursive: true });
  // A separate folder with its own package.json, so that npm does not walk up and change the project's.
  if (!existsSync(join(cache, "package.json"))) writeFileSync(join(cache, "package.json"), '{"private":true}\n');
  const npm = spawnSync("npm", ["install", "--prefix", cache, "--no-save", "--no-audit", "--no-fund", `${packageName}@${version}`], {
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  if (isRightNode(fetched)) return fetched;
  process.stderr.write(
    `${npm.stdout ?? ""}${npm.stderr ?? ""}\nNode 24 could not be fetched as ${packageName}@${version}.\n` +
      "Put a Node 24.21 or later on the PATH under the name node24, or run this script with it, and try again.\n",
  );
  process.exit(1);
}
