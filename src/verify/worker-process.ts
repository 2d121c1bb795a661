import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import type { Json, JsonObject } from "../kernel/json.ts";

/** The command that starts a worker: the same executable with a hidden command, or a test's own file. */
export interface WorkerCommand {
  readonly file: string;
  readonly args: readonly string[];
}

/** The first message to a worker. `name` is also the writer of everything it commits. */
export interface Job extends JsonObject {
  readonly job: string;
  readonly name: string;
  readonly store: string;
  readonly namespace: string;
  readonly seed: number;
}

export type WorkerMessage = { readonly [key: string]: Json };

const stderrCharsMax = 4_000;

/**
 * One client in its own process. It sends lines of JSON. What it sent before it was killed still arrives,
 * because the pipe outlives the process. The parent collects these lines in the journal that audits use.
 */
export class WorkerProcess {
  readonly name: string;
  /** Resolves when the worker has reported "ready": it is connected to the store. */
  readonly ready: Promise<void>;
  /** Resolves when the process has ended and all its output has been read. Rejects if it failed without being killed. */
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  readonly #onMessage: (message: WorkerMessage) => void;
  readonly #asked = new Map<number, { resolve(answer: WorkerMessage): void; reject(error: Error): void }>();
  #nextId = 1;
  #stderr = "";
  #rest = "";
  #killed = false;
  #heardReady: () => void = () => {};

  constructor(command: WorkerCommand, job: Job, onMessage: (message: WorkerMessage) => void = () => {}) {
    this.name = job.name;
    this.#onMessage = onMessage;
    this.#child = spawn(command.file, command.args, { stdio: ["pipe", "pipe", "pipe"] });
    this.ready = new Promise((resolve) => {
      this.#heardReady = resolve;
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => this.#hear(text));
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-stderrCharsMax);
    });
    // A killed worker leaves a broken pipe behind; the code below decides whether it failed.
    this.#child.stdin?.on("error", () => {});
    this.ended = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code, signal) => {
        const failure = new Error(`Worker ${job.name} (${job.job}) ended with ${signal ?? `exit code ${code}`}${this.#stderr === "" ? "" : `: ${this.#stderr.trim()}`}`);
        for (const { reject: refuse } of this.#asked.values()) refuse(failure);
        if (code === 0 || this.#killed) resolve();
        else reject(failure);
      });
    });
    // Callers that await `ended` get the failure. A failure that is not awaited yet must not end the parent.
    this.ended.catch(() => {});
    this.send(job);
  }

  send(message: WorkerMessage): void {
    if (this.#child.stdin?.writable) this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Sends a command and waits for its answer. */
  ask(command: WorkerMessage): Promise<WorkerMessage> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
      this.send({ ...command, id });
    });
  }

  kill(): void {
    this.#killed = true;
    this.#child.kill("SIGKILL");
  }

  stop(): void {
    this.#child.kill("SIGSTOP");
  }

  proceed(): void {
    this.#child.kill("SIGCONT");
  }

  /** Closes the worker's input; the worker ends when its jobs are done. */
  async finish(): Promise<void> {
    this.#child.stdin?.end();
    await this.ended;
  }

  #hear(text: string): void {
    const lines = (this.#rest + text).split("\n");
    // A line cut off by a kill does not count as sent.
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const message = JSON.parse(line) as WorkerMessage;
      if (message.ready === true) this.#heardReady();
      else if (typeof message.re === "number") {
        this.#asked.get(message.re)?.resolve(message);
        this.#asked.delete(message.re);
      } else this.#onMessage(message);
    }
  }
}

/** Starts all workers and waits until each is connected. If one ends before that, all are killed and this fails. */
export async function startWorkers(count: number, start: (index: number) => WorkerProcess): Promise<readonly WorkerProcess[]> {
  const workers = Array.from({ length: count }, (_, index) => start(index));
  try {
    await Promise.all(
      workers.map((worker) => Promise.race([worker.ready, worker.ended.then(() => Promise.reject(new Error(`Worker ${worker.name} ended before it was ready.`)))])),
    );
    return workers;
  } catch (error) {
    for (const worker of workers) worker.kill();
    throw error;
  }
}
