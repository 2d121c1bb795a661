import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";

/**
 * Runs beside the tests, in a group of its own, and reads from a pipe that breaks when the process that started it ends in whatever way,
 * kill -9 included. Then it ends the servers that are left, asks PostgreSQL first (only its own end frees shared memory), and removes their folders.
 */
const guardSource = `
const { rmSync } = require("node:fs");
const watched = new Map();
let text = "";
const signal = (pid, name) => { try { process.kill(pid, name); return true; } catch { return false; } };
process.on("SIGINT", () => {}).on("SIGTERM", () => {}).on("SIGHUP", () => {});
process.stdin.setEncoding("utf8").on("data", (chunk) => {
  const lines = (text + chunk).split("\\n");
  text = lines.pop();
  for (const line of lines) {
    const [verb, subject] = JSON.parse(line);
    if (verb === "watch") watched.set(subject, "process");
    else if (verb === "keep") watched.set(subject, "folder");
    else watched.delete(subject);
  }
}).on("end", async () => {
  const pids = [...watched].filter(([, kind]) => kind === "process").map(([pid]) => pid);
  for (const pid of pids) { signal(pid, "SIGCONT"); signal(pid, "SIGQUIT"); }
  for (let waited = 0; waited < 40 && pids.some((pid) => signal(pid, 0)); waited += 1) await new Promise((done) => setTimeout(done, 50));
  for (const pid of pids) signal(pid, "SIGKILL");
  for (const [folder, kind] of watched) if (kind === "folder") rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});
`;

let guard: ChildProcess | undefined;

function tell(verb: "watch" | "keep" | "forget", subject: number | string): void {
  guard ??= startGuard();
  guard.stdin?.write(`${JSON.stringify([verb, subject])}\n`);
}

function startGuard(): ChildProcess {
  const child = spawn(process.execPath, ["-e", guardSource], { stdio: ["pipe", "ignore", "ignore"], detached: true });
  child.stdin?.on("error", () => {});
  // Neither the process nor the pipe may keep a test run from ending.
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
  return child;
}

/** From now on this process does not outlive the one that called; `forget` when it has ended, since its id may be given to another. */
export const guardProcess = (pid: number): void => tell("watch", pid);
export const guardFolder = (folder: string): void => tell("keep", folder);
export const forgetGuarded = (subject: number | string): void => tell("forget", subject);
