import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { workersDir } from "./worker-build.ts";

export interface WorkerOptions {
  /** Which Node to run it under; the one that runs the tests if not said. */
  readonly node?: string;
  readonly nodeFlags?: readonly string[];
}

/** A child process of a test: one file of test/workers, spoken to in lines of JSON. */
export interface Worker<Out> {
  readonly pid: number;
  send(message: unknown): void;
  /** The next line it writes. Rejects, with what it wrote to standard error, when it ends instead. */
  next(): Promise<Out>;
  /** Everything it has written and nobody has taken, without waiting. */
  taken(): Out[];
  /** kill -9, by this child's id; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGSTOP: frozen in the middle of whatever it does, as a machine that sleeps. */
  pause(): void;
  resume(): void;
  /** Resolves when it ends by itself; rejects on any exit code but 0. */
  ended(): Promise<void>;
  errors(): string;
}

/** Starts `test/workers/<name>.ts` with `args` as its first line. Killed at the end of the test if it still runs. */
export function spawnWorker<Out>(name: string, args: unknown, options: WorkerOptions = {}): Worker<Out> {
  const child = spawn(options.node ?? process.execPath, [...(options.nodeFlags ?? []), join(workersDir, `${name}.mjs`)], { stdio: ["pipe", "pipe", "pipe"] });
  const lines: Out[] = [];
  const waiting: { resolve: (line: Out) => void; reject: (error: Error) => void }[] = [];
  let errors = "";
  let exit: { code: number | null; signal: string | null } | undefined;
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  createInterface({ input: child.stdout }).on("line", (text) => {
    const line = JSON.parse(text) as Out;
    const waiter = waiting.shift();
    if (waiter === undefined) lines.push(line);
    else waiter.resolve(line);
  });
  // A killed child breaks the pipe to it; that is no failure of the test.
  child.stdin.on("error", () => {});
  const gone = once(child, "close").then(([code, signal]) => {
    exit = { code, signal };
    for (const waiter of waiting.splice(0)) waiter.reject(endedError());
  });
  const endedError = (): Error => new Error(`Worker ${name} ended (code ${exit?.code}, signal ${exit?.signal}). Its standard error:\n${errors}`);
  const kill = async (): Promise<void> => {
    if (exit === undefined) child.kill("SIGKILL");
    await gone;
  };
  onTestFinished(kill);
  const send = (message: unknown): void => void child.stdin.write(`${JSON.stringify(message)}\n`);
  send(args);
  return {
    pid: child.pid ?? 0,
    send,
    next: () => {
      const line = lines.shift();
      if (line !== undefined) return Promise.resolve(line);
      if (exit !== undefined) return Promise.reject(endedError());
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    taken: () => lines.splice(0),
    kill,
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
    ended: async () => {
      await gone;
      if (exit?.code !== 0) throw endedError();
    },
    errors: () => errors,
  };
}
