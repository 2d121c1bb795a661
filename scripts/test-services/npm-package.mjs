// Programs of others that the stories use, each pinned and in a folder of its own under .cache, away from the project's dependencies.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const cache = process.env.HOLDFAST_TEST_CACHE ?? join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), ".cache");

/** Path of the package's program; installs it first where it is missing or of another version. `more`: what must be installed beside it. `options`: npm's. */
export function requirePackage({ folder: named, name, version, program, who, more = [], options = [] }) {
  const folder = join(cache, named);
  const installed = join(folder, "node_modules", ...name.split("/"));
  const foundVersion = () => {
    const path = join(installed, "package.json");
    return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")).version : undefined;
  };
  if (foundVersion() !== version) install(folder, [`${name}@${version}`, ...more], options, who);
  const path = join(installed, program);
  if (foundVersion() !== version || !existsSync(path)) throw new Error(`${name} in ${folder} is not complete. Remove that folder and try again.`);
  return path;
}

function install(folder, packages, options, who) {
  mkdirSync(folder, { recursive: true });
  const { status, stderr } = spawnSync(
    "npm",
    ["install", "--prefix", folder, "--no-save", "--no-package-lock", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", ...options, ...packages],
    { encoding: "utf8", shell: process.platform === "win32" },
  );
  if (status === 0) return;
  throw new Error(
    `${who}, and npm could not install ${packages.join(" ")}. Make the npm registry reachable, or run: npm install --prefix ${folder} ${packages.join(" ")}\n${stderr}`,
  );
}

/** Prints what is found; says what to do where it cannot be. */
export function printed(find) {
  try {
    process.stdout.write(`${find()}\n`);
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
