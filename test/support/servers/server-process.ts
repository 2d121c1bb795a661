import type { ChildProcess, SpawnOptions } from "node:child_process";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { forgetGuarded, guardFolder, guardProcess } from "./orphan-guard.ts";

export interface ServerStart {
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly options?: SpawnOptions;
  readonly folder: string;
  /** Where its output goes; its end is shown when it does not start. */
  readonly logFile: string;
  /** One question to the server; a rejection means not yet. `pid` tells it from another server that took the port before it. */
  readonly isReady: (pid: number) => Promise<boolean>;
  /** A polite end, after which nothing is left to repair. */
  readonly stopSignal: NodeJS.Signals;
  /** The quickest end that still frees what the system lent. */
  readonly endSignal: NodeJS.Signals;
  /** Frees what a kill left with the system, where the server itself would do that only at its next start. */
  readonly clearAfterKill?: () => Promise<void>;
}

/** Ends only what hangs. */
const startMsMax = 300_000;
const stopMsMax = 10_000;

/** A server of a test's own, to be killed, stopped, frozen and started again on the same port and folder. Gone with its folder when disposed of, or when the tests end. */
export class ServerProcess implements AsyncDisposable {
  readonly #start: ServerStart;
  #child: ChildProcess | undefined;
  #gone: Promise<unknown> = Promise.resolve();
  #wasKilled = false;

  constructor(start: ServerStart) {
    this.#start = start;
  }

  /** Resolves when it answers. What does not start leaves nothing behind. */
  async start(): Promise<this> {
    guardFolder(this.folder);
    try {
      await this.#launch();
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    }
    return this;
  }

  get pid(): number {
    if (this.#child?.pid === undefined) throw new Error(`${this.#start.name} is not running.`);
    return this.#child.pid;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  get folder(): string {
    return this.#start.folder;
  }

  /** What it has written about itself. */
  log(): Promise<string> {
    return readFile(this.#start.logFile, "utf8").catch(() => "");
  }

  /** SIGKILL to it and to everything it has started: a crash, of which it learns nothing beforehand. Resolves when all of it is gone. */
  async kill9(): Promise<void> {
    if (this.#child === undefined) return;
    const { pid } = this;
    this.#wasKilled = true;
    this.#child.ref();
    // Frozen first: it cannot start another child between the listing and the kill.
    this.#child.kill("SIGSTOP");
    const children = await childrenOf(pid);
    for (const id of [pid, ...children]) signal(id, "SIGKILL");
    await this.#gone;
    while (children.length > 0 && (await running(children)).length > 0) await delay(10);
  }

  /** Lets it finish what it does. */
  stop(): Promise<void> {
    return this.#end(this.#start.stopSignal);
  }

  /** The same port and folder, whatever ended it; ended politely first where it still runs. */
  async restart(): Promise<void> {
    await this.stop();
    await this.#launch();
  }

  /** SIGSTOP: connections stay open and nothing answers. */
  pause(): void {
    signal(this.pid, "SIGSTOP");
  }

  resume(): void {
    signal(this.pid, "SIGCONT");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end(this.#start.endSignal);
    if (this.#wasKilled) await this.#start.clearAfterKill?.();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    forgetGuarded(this.folder);
  }

  async #launch(): Promise<void> {
    const { name, file, args, options, logFile, isReady } = this.#start;
    const log = openSync(logFile, "a");
    // A group of its own: a signal to the tests' group reaches the guard's decision, not the server in the middle of a write.
    // Nothing of the tests' environment: a server is the same wherever it is started from.
    const child = spawn(file, args, { ...options, env: { PATH: process.env.PATH }, stdio: ["ignore", log, log], detached: true });
    closeSync(log);
    let failure = "";
    this.#child = child;
    this.#wasKilled = false;
    if (child.pid !== undefined) guardProcess(child.pid);
    this.#gone = once(child, "exit")
      .catch((error: Error) => {
        failure = error.message;
      })
      .then(() => {
        if (child.pid !== undefined) forgetGuarded(child.pid);
        if (this.#child === child) this.#child = undefined;
      });
    // It may not keep the tests from ending; the guard ends it then.
    child.unref();
    const untilMs = performance.now() + startMsMax;
    while (!(await isReady(child.pid ?? 0).catch(() => false))) {
      if (this.#child !== child || performance.now() > untilMs)
        throw new Error(
          `${name} ${this.#child === child ? `was not ready after ${startMsMax / 1_000} s` : "ended instead of starting"}. ${failure}\n${(await this.log()).slice(-2_000)}`,
        );
      await delay(15);
    }
  }

  async #end(by: NodeJS.Signals): Promise<void> {
    if (this.#child === undefined) return;
    const { pid } = this;
    this.#child.ref();
    signal(pid, "SIGCONT");
    signal(pid, by);
    // Left running, the timer would keep the whole test run from ending for as long.
    const inTime = await Promise.race([this.#gone.then(() => true), delay(stopMsMax, false, { ref: false })]);
    if (!inTime) await this.kill9();
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It ended by itself meanwhile.
  }
}

interface Process {
  readonly pid: number;
  readonly parent: number;
}

/** Every process that runs; those that have ended and wait to be collected are left out. */
async function listProcesses(): Promise<readonly Process[]> {
  const { stdout } = await promisify(execFile)("ps", ["-A", "-o", "pid=,ppid=,stat="]);
  return stdout
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , state]) => state !== undefined && !state.startsWith("Z"))
    .map(([pid, parent]) => ({ pid: Number(pid), parent: Number(parent) }));
}

const childrenOf = async (pid: number): Promise<readonly number[]> => (await listProcesses()).filter((entry) => entry.parent === pid).map((entry) => entry.pid);

/** Those of the processes that still run. */
export const running = async (pids: readonly number[]): Promise<readonly number[]> => (await listProcesses()).map((entry) => entry.pid).filter((pid) => pids.includes(pid));
