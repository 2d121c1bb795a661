import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import type { WorkerCommand } from "../../../src/verify/worker-process.ts";

/** What a tool call was answered; `text` is the answer as it came, to be compared byte by byte. */
export interface ToolAnswer {
  readonly isError: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: the audit looks into answers of every tool
  readonly structured: any;
  readonly text: string;
}

/** A server, or what leads to some. Rejects with `Cut` when no answer comes. */
export interface ToolCaller {
  call(name: string, args: Readonly<Record<string, unknown>>, requestKey?: string): Promise<ToolAnswer>;
}

/** The server was killed before it answered: the call may or may not have happened. */
export class Cut extends Error {}

const stderrCharsMax = 4_000;
/** A server that is killed after these has done something, however slow the machine is. */
const firstCalls = 6;

/** One real MCP server over stdio, spoken to in raw lines. What it wrote before a kill is still heard: the pipe outlives it. */
export class ServerProcess implements ToolCaller {
  /** The handshake is done. */
  readonly ready: Promise<void>;
  readonly firstCallsAnswered: Promise<void>;
  /** Resolves when the process is gone and its last line was read; rejects when it ended without being killed or told to. */
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { resolve(result: Record<string, unknown>): void; reject(error: Error): void }>();
  #nextId = 0;
  #rest = "";
  #stderr = "";
  #mayEnd = false;
  #answers = 0;
  #heardFirst: () => void = () => {};

  constructor({ file, args }: WorkerCommand) {
    this.#child = spawn(file, args, { env: { PATH: process.env.PATH, HOLDFAST_PROFILE: "all" }, stdio: ["pipe", "pipe", "pipe"] });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => this.#hear(text));
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-stderrCharsMax);
    });
    // A killed server breaks the pipe to it.
    this.#child.stdin?.on("error", () => {});
    this.ended = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code, signal) => {
        const cut = new Cut(`The server ended with ${signal ?? `exit code ${code}`}. ${this.#stderr}`);
        for (const { reject: refuse } of this.#waiting.values()) refuse(cut);
        this.#waiting.clear();
        if (this.#mayEnd) resolve();
        else reject(new Error(cut.message));
      });
    });
    this.ended.catch(() => {});
    this.firstCallsAnswered = new Promise((resolve) => {
      this.#heardFirst = resolve;
    });
    this.ready = this.#shakeHands();
    this.ready.catch(() => {});
  }

  get inFlight(): number {
    return this.#waiting.size;
  }

  async call(name: string, args: Readonly<Record<string, unknown>>, requestKey?: string): Promise<ToolAnswer> {
    const meta = requestKey === undefined ? {} : { _meta: { "holdfast/request-key": requestKey } };
    const { isError = false, structuredContent } = await this.#request("tools/call", { name, arguments: args, ...meta });
    this.#answers += 1;
    if (this.#answers === firstCalls) this.#heardFirst();
    return { isError: isError === true, structured: structuredContent, text: JSON.stringify(structuredContent) };
  }

  kill(): void {
    this.#mayEnd = true;
    this.#child.kill("SIGKILL");
  }

  /** No more calls: the server answers what it has and ends. */
  async finish(): Promise<void> {
    this.#mayEnd = true;
    this.#child.stdin?.end();
    await this.ended;
  }

  async #shakeHands(): Promise<void> {
    await this.#request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "kill-server", version: "1" } });
    this.#send({ jsonrpc: "2.0", method: "notifications/initialized" });
  }

  #request(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> {
    this.#nextId += 1;
    const id = this.#nextId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#send({ jsonrpc: "2.0", id, method, params });
    });
  }

  #send(message: Record<string, unknown>): void {
    this.#child.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  #hear(text: string): void {
    const lines = (this.#rest + text).split("\n");
    // A line that the kill cut in two is no answer.
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const { id, result, error } = JSON.parse(line) as { id?: number; result?: Record<string, unknown>; error?: unknown };
      const waiter = id === undefined ? undefined : this.#waiting.get(id);
      if (id === undefined || waiter === undefined) continue;
      this.#waiting.delete(id);
      if (result === undefined) waiter.reject(new Error(`The server refused a request: ${JSON.stringify(error)}`));
      else waiter.resolve(result);
    }
  }
}
