// Child processes of the test commands: each in a group of its own, all of them ended with the command, however that ends.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const children = new Set();
let stopping = false;

/** True once the user has interrupted the command; nothing new is to be started then. */
export const isStopping = () => stopping;

const exitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };
for (const [signal, code] of Object.entries(exitCodes))
  process.on(signal, () => {
    // A second signal does not wait any longer.
    if (stopping) process.exit(code);
    stopping = true;
    process.exitCode = code;
    void Promise.all([...children].map(endGroup)).then(() => process.exit(code));
  });
// A terminal that was closed refuses output; the signal that follows does the rest.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

/**
 * Runs a command to its end. `onLine` gets every line of its output, `onEvent` every line of file descriptor 3. A group of its own, because the command's
 * children must end with it, and because a system that shares its time by groups then starves none.
 */
export function start([command, ...args], { cwd, env, onLine = () => {}, onEvent }) {
  const stdio = ["ignore", "pipe", "pipe", ...(onEvent === undefined ? [] : ["pipe"])];
  const child = spawn(command, args, { cwd, env, stdio, detached: process.platform !== "win32" });
  children.add(child);
  for (const output of [child.stdout, child.stderr]) createInterface({ input: output.setEncoding("utf8") }).on("line", onLine);
  if (onEvent !== undefined) createInterface({ input: child.stdio[3].setEncoding("utf8") }).on("line", (line) => onEvent(JSON.parse(line)));
  const startedMs = performance.now();
  const finished = new Promise((resolve) => {
    const finish = (code) => {
      children.delete(child);
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

/** First politely, so that tests can remove what they made; after five seconds by force. */
async function endGroup(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  signal(child, "SIGTERM");
  const forced = setTimeout(() => signal(child, "SIGKILL"), 5_000);
  await gone;
  clearTimeout(forced);
  // What it started and left behind shares its group.
  signal(child, "SIGKILL");
}

function signal(child, name) {
  try {
    if (process.platform === "win32") child.kill(name);
    else process.kill(-child.pid, name);
  } catch {
    // It ended by itself meanwhile.
  }
}
