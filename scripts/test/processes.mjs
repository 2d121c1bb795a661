// Child processes of the test commands and a temporary directory for all of them. Both end with the command, no matter how it ends.
import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const hasGroups = process.platform !== "win32";
const children = new Set();
let stopping = false;

/** True once the user has interrupted the command; nothing new may be started then. */
export const isStopping = () => stopping;

const temporary = mkdtempSync(join(tmpdir(), "holdfast-tests-"));
// If the tests run as root, PostgreSQL runs as another user and needs access.
chmodSync(temporary, 0o755);
const removeTemporary = () => rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
process.once("exit", removeTemporary);

const exitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };
for (const [signal, code] of Object.entries(exitCodes))
  process.on(signal, () => {
    // A second signal does not wait any longer.
    if (stopping) process.exit(code);
    stopping = true;
    void Promise.all([...children].map(endGroup)).then(() => process.exit(code));
  });
// A closed terminal rejects output; the signal that follows does the rest.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

const guard = hasGroups ? startGuard() : undefined;

/** Reads from a pipe that breaks when this process ends in any way, including `kill -9`. It then ends the remaining groups and removes the folder. */
function startGuard() {
  const script = `
live=' '
while read -r verb group; do
  if [ "$verb" = begin ]; then live="$live$group "; else live=$(printf '%s' "$live" | sed "s/ $group / /"); fi
done
for group in $live; do kill -TERM -- "-$group" 2>/dev/null && waiting=yes; done
[ -z "$waiting" ] || sleep 5
for group in $live; do kill -KILL -- "-$group" 2>/dev/null; done
rm -rf -- "$1"`;
  const child = spawn("sh", ["-c", script, "sh", temporary], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  child.on("error", () => {});
  child.stdin.on("error", () => {});
  child.unref();
  child.stdin.unref();
  return child.stdin;
}

/**
 * Starts a command in its own process group, because its children must end with it. `onLine` gets every line of its output, `onEvent` every line of file
 * descriptor 3, parsed.
 */
export function start([command, ...args], { cwd, env = process.env, onLine = () => {}, onEvent }) {
  const stdio = ["ignore", "pipe", "pipe", ...(onEvent === undefined ? [] : ["pipe"])];
  const child = spawn(command, args, { cwd, env: { ...env, TMPDIR: temporary }, stdio, detached: hasGroups });
  children.add(child);
  guard?.write(`begin ${child.pid}\n`);
  for (const output of [child.stdout, child.stderr]) createInterface({ input: output.setEncoding("utf8") }).on("line", onLine);
  if (onEvent !== undefined) createInterface({ input: child.stdio[3].setEncoding("utf8") }).on("line", (line) => onEvent(JSON.parse(line)));
  const startedMs = performance.now();
  const finished = new Promise((resolve) => {
    const finish = (code) => {
      children.delete(child);
      guard?.write(`end ${child.pid}\n`);
      resolve({ code, seconds: (performance.now() - startedMs) / 1_000 });
    };
    child.once("error", (error) => {
      onLine(`${command}: ${error.message}`);
      finish(127);
    });
    child.once("close", (code) => finish(code ?? 1));
  });
  return { finished, end: () => endGroup(child) };
}

/** First with a signal that tests can handle to clean up; after five seconds by force. */
async function endGroup(child) {
  if (child.exitCode === null && child.signalCode === null) {
    const gone = new Promise((resolve) => child.once("exit", resolve));
    signal(child, "SIGTERM");
    const forced = setTimeout(() => signal(child, "SIGKILL"), 5_000);
    await gone;
    clearTimeout(forced);
  }
  // Processes that it left behind are in its group.
  signal(child, "SIGKILL");
}

function signal(child, name) {
  try {
    if (hasGroups) process.kill(-child.pid, name);
    else child.kill(name);
  } catch {
    // It has ended by itself.
  }
}
