// Third-party programs that the stories use, each pinned and in its own folder under .cache, separate from the project's dependencies.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const cache = process.env.HOLDFAST_TEST_CACHE ?? join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), ".cache");

/** Path of the package's program; installs it first if it is missing or has another version. `more`: packages that must be installed with it; `flags`: for npm. */
export function requirePackage({ folder: named, name, version, program, who, more = [], flags = [] }) {
  const folder = join(cache, named);
  const installed = join(folder, "node_modules", ...name.split("/"));
  const foundVersion = () => {
    const path = join(installed, "package.json");
    return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")).version : undefined;
  };
  if (foundVersion() !== version) install(folder, [`${name}@${version}`, ...more], who, flags);
  const path = join(installed, program);
  if (foundVersion() !== version || !existsSync(path)) throw new Error(`${name} in ${folder} is incomplete. Remove that folder and try again.`);
  return path;
}

function install(folder, packages, who, flags) {
  mkdirSync(folder, { recursive: true });
  const { status, stderr } = spawnSync(
    "npm",
    ["install", "--prefix", folder, "--no-save", "--no-package-lock", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", ...flags, ...packages],
    { encoding: "utf8", shell: process.platform === "win32" },
  );
  if (status === 0) return;
  throw new Error(
    `${who}, and npm could not install ${packages.join(" ")}. Make the npm registry reachable, or run: npm install --prefix ${folder} ${packages.join(" ")}\n${stderr}`,
  );
}

/** Prints the path; if the package cannot be had, prints what to do. */
export function printed(find) {
  try {
    process.stdout.write(`${find()}\n`);
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
