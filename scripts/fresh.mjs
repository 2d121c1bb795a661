// npm run fresh: runs the README's commands as on a machine that has never seen this project. Clones the current commit into a new folder and runs
// them there with an empty HOME, an empty temporary directory, a PATH of the system's folders, and almost no environment variables. As root on Linux that
// happens in a mount namespace, in which the home folder, the temporary directory and the caches of earlier runs are covered by empty ones.
//   npm run fresh                                 both commands of the README
//   npm run fresh -- test campaigns --scale 0.3   the second one, then the campaigns at that scale
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** The variables that make the registries reachable from here, and those that name servers to test. */
const keptVariables =
  /^((https?|no)_proxy|npm_config_(registry|cafile|proxy|https_proxy|noproxy)|node_extra_ca_certs|ssl_cert_(file|dir)|pip_(cert|index_url)|holdfast_test_\w+_url|ci|term|no_color)$/i;
/** Left in the temporary directory by Node and npm, not by tests. */
const toolCaches = /^(node-compile-cache|v8-compile-cache.*)$/;

const { positionals, values } = readArguments();
const commands = { ...readmeCommands(), campaigns: `npm run test:campaigns -- --scale ${values.scale} --only "${values.only}"` };
const wanted = positionals.length === 0 ? ["try", "test"] : positionals;
const unknown = wanted.find((name) => commands[name] === undefined);
if (unknown !== undefined) fail(`"${unknown}" is not one of ${Object.keys(commands).join(", ")}.`);

const canUnshare = process.platform === "linux" && process.getuid?.() === 0 && spawnSync("unshare", ["--mount", "true"]).status === 0;
const folder = newFolder();
const [clone, home, temporary, bin, listing] = ["clone", "home", "tmp", "bin", "left"].map((name) => join(folder, name));
process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
let child;
for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }))
  process.once(signal, () => {
    if (child?.pid !== undefined) process.kill(-child.pid, signal);
    process.exit(code);
  });

prepare();
const outcomes = [];
for (const name of wanted) {
  const outcome = await run(commands[name]);
  const left = await leftBehind();
  outcomes.push({ ...outcome, left });
  say(`${name}: exit code ${outcome.code}, ${outcome.seconds.toFixed(0)} s${left.length === 0 ? ", nothing left behind" : `; left behind: ${left.join(", ")}`}`);
  if (outcome.code !== 0) break;
}
const sum = (count) => outcomes.reduce((total, outcome) => total + count(outcome), 0);
const failed = sum(({ code, totals, left }) => Math.max(totals?.failed ?? 0, code === 0 ? 0 : 1) + (left.length === 0 ? 0 : 1));
process.stdout.write(`${sum(({ code, totals }) => totals?.passed ?? (code === 0 ? 1 : 0))} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;

function say(text) {
  process.stdout.write(`fresh: ${text}\n`);
}

function fail(message) {
  process.stderr.write(`${message}\nUsage: npm run fresh -- [try] [test] [campaigns] [--scale N] [--only TEXT]\n`);
  process.exit(2);
}

function readArguments() {
  try {
    return parseArgs({ allowPositionals: true, options: { scale: { type: "string", default: "0.3" }, only: { type: "string", default: "" } } });
  } catch (error) {
    return fail(error.message);
  }
}

/** Read from the README, so that these are exactly the commands that readers run. */
function readmeCommands() {
  const [first, second] = readFileSync(join(root, "README.md"), "utf8").match(/^npm ci && npm .*$/gm) ?? [];
  if (second === undefined) fail("README.md has no two lines that begin with `npm ci && npm`.");
  return { try: first, test: second };
}

/** On a disk, outside the covered folders, and below no folder in which Node would find packages. */
function newFolder() {
  const parent = [...(canUnshare ? ["/var/tmp"] : []), tmpdir()].find((candidate) => existsSync(candidate) && !hasPackagesAbove(candidate));
  if (parent === undefined) fail(`There is a node_modules folder in or above ${tmpdir()}, where Node would find packages. Set TMPDIR to another place.`);
  return mkdtempSync(join(parent, "holdfast-fresh-"));
}

function hasPackagesAbove(path) {
  return existsSync(join(path, "node_modules")) || (dirname(path) !== path && hasPackagesAbove(dirname(path)));
}

function prepare() {
  // PostgreSQL runs as another user and needs access.
  execFileSync("chmod", ["755", folder]);
  for (const path of [home, temporary, bin]) mkdirSync(path);
  execFileSync("chmod", ["1777", temporary]);
  for (const program of ["node", "npm", "npx"]) symlinkSync(program === "node" ? process.execPath : join(dirname(process.execPath), program), join(bin, program));
  const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
  git("clone", "--quiet", "--no-hardlinks", root, clone);
  const changes = git("status", "--porcelain") === "" ? "" : " (uncommitted changes are left out)";
  say(`commit ${git("rev-parse", "--short", "HEAD")}${changes}, Node ${process.versions.node}, ${process.platform} ${process.arch}`);
  say(canUnshare ? `mount namespace: empty ${covered().join(", ")}` : "no mount namespace (needs Linux and root): new HOME and temporary directory by variables only");
}

/** The folders that do not exist on a machine that has never seen this project. */
function covered() {
  return ["/tmp", homedir(), "/var/cache/holdfast-tests"].filter((path) => existsSync(path) && !folder.startsWith(`${path}/`));
}

async function run(command) {
  say(command);
  const system = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
  const env = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => keptVariables.test(name))),
    PATH: [bin, ...system].join(":"),
    HOME: home,
    LANG: "C.UTF-8",
    HOLDFAST_FRESH: folder,
    ...(canUnshare ? {} : { TMPDIR: temporary }),
  };
  const inside = canUnshare ? "/tmp" : temporary;
  const cover = canUnshare ? covered().map((path) => `mount -t tmpfs -o mode=${path === "/tmp" ? "1777" : "755"} holdfast-fresh '${path}' && `) : [];
  const script = `${cover.join("")}cd '${clone}' || exit 1\n${command}\ncode=$?\nls -A '${inside}' > '${listing}'\nexit $code`;
  const words = [...(canUnshare ? ["unshare", "--mount", "--propagation", "private"] : []), "sh", "-c", script];
  const startedMs = performance.now();
  child = spawn(words[0], words.slice(1), { env, stdio: ["ignore", "pipe", "inherit"], detached: true });
  let totals;
  createInterface({ input: child.stdout.setEncoding("utf8") }).on("line", (line) => {
    process.stdout.write(`${line}\n`);
    const [, passed, failures] = /^(\d+) passed, (\d+) failed$/.exec(line) ?? [];
    if (passed !== undefined) totals = { passed: Number(passed), failed: Number(failures) };
  });
  const code = await new Promise((resolve) => child.once("close", (exitCode) => resolve(exitCode ?? 1)));
  return { code, totals, seconds: (performance.now() - startedMs) / 1_000 };
}

/** Processes that are still running, recognized by a variable that all of them inherit, and files left in the temporary directory. */
async function leftBehind() {
  let processes = markedProcesses();
  // Servers that are stopping may take a moment.
  for (let turn = 0; turn < 100 && processes.length > 0; turn += 1) {
    await delay(100);
    processes = markedProcesses();
  }
  const entries = existsSync(listing) ? readFileSync(listing, "utf8").split("\n") : [];
  return [...processes, ...entries.filter((entry) => entry !== "" && !toolCaches.test(entry))];
}

function markedProcesses() {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((pid) => {
      try {
        const marked = readFileSync(join("/proc", pid, "environ"), "utf8")
          .split("\0")
          .includes(`HOLDFAST_FRESH=${folder}`);
        return marked
          ? [
              `process ${pid}: ${readFileSync(join("/proc", pid, "cmdline"), "utf8")
                .replaceAll("\0", " ")
                .trim()
                .slice(0, 120)}`,
            ]
          : [];
      } catch {
        // It has ended in the meantime.
        return [];
      }
    });
}
