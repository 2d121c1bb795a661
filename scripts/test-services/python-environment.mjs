// Virtual environments with pinned packages from the Python package index, each in its own folder under .cache.
import { spawnSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const cache = process.env.HOLDFAST_TEST_CACHE ?? join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), ".cache");

/** Path of a Python interpreter with the packages; creates the environment first if a package is missing or has another version. */
export function requirePythonPackages({ folder: named, wanted, who }) {
  const folder = join(cache, named);
  const interpreter = process.platform === "win32" ? join(folder, "Scripts", "python.exe") : join(folder, "bin", "python");
  if (!isComplete(interpreter, wanted)) install(folder, interpreter, wanted, who);
  if (!isComplete(interpreter, wanted)) throw new Error(`The Python environment in ${folder} does not have ${wanted.join(" and ")}. Remove that folder and try again.`);
  return interpreter;
}

function isComplete(interpreter, wanted) {
  if (!existsSync(interpreter)) return false;
  const asksVersions = ["-c", "import importlib.metadata as m, sys; print(*(n + '==' + m.version(n) for n in sys.argv[1:]))", ...wanted.map((each) => each.split("==")[0])];
  const { status, stdout } = spawnSync(interpreter, asksVersions, { encoding: "utf8" });
  return status === 0 && stdout.trim() === wanted.join(" ");
}

function install(folder, interpreter, wanted, who) {
  // A usable environment is kept: only missing packages are fetched.
  if (!existsSync(interpreter)) makeEnvironment(folder, interpreter, who);
  const { status, stderr } = spawnSync(interpreter, ["-m", "pip", "install", "--disable-pip-version-check", "--quiet", "--no-input", ...wanted], { encoding: "utf8" });
  if (status !== 0) throw new Error(`${who}, and pip could not install ${wanted.join(" and ")}. Make the Python package index reachable.\n${stderr}`);
}

/** Debian has `venv` in a separate package; as root it is fetched, otherwise the message says how. */
function makeEnvironment(folder, interpreter, who) {
  const first = tryEnvironments(folder, interpreter);
  if (first === undefined) return;
  if (process.getuid?.() === 0 && hasCommand("apt-get")) {
    const environment = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    spawnSync("apt-get", ["update", "--quiet"], { env: environment });
    spawnSync("apt-get", ["install", "--yes", "--quiet", "--no-install-recommends", "python3", "python3-venv"], { env: environment });
    if (tryEnvironments(folder, interpreter) === undefined) return;
  }
  throw new Error(`${who}, in Python 3.10 or newer with its venv module. On Debian or Ubuntu: apt-get install python3 python3-venv\n${first}`);
}

/** Several Pythons may be installed, and the first one on the PATH may be too old. Returns the last failure; undefined = created. */
function tryEnvironments(folder, interpreter) {
  let failure = "";
  for (const python of ["python3", "/usr/bin/python3", "python"]) {
    if (!hasCommand(python)) continue;
    const old = spawnSync(python, ["-c", "import sys; sys.exit(0 if sys.version_info >= (3, 10) else 1)"]).status !== 0;
    if (old) {
      failure = `${python} is older than 3.10.`;
      continue;
    }
    const { status, stdout, stderr } = spawnSync(python, ["-m", "venv", "--clear", folder], { encoding: "utf8" });
    if (status === 0 && existsSync(interpreter)) return undefined;
    failure = `${python} -m venv: ${stdout}${stderr}`;
    rmSync(folder, { recursive: true, force: true });
  }
  return failure === "" ? "No python3 was found." : failure;
}

const hasCommand = (command) => spawnSync(command, ["--version"], { stdio: "ignore" }).error === undefined;
