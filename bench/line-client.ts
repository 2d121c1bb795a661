import type { ChildProcessByStdio } from "node:child_process";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";

export type Era = "handshake" | "stateless";

const statelessVersion = "2026-07-28";
const clientInfo = { name: "bench", version: "1.0.0" };
export const envelope = {
  "io.modelcontextprotocol/protocolVersion": statelessVersion,
  "io.modelcontextprotocol/clientInfo": clientInfo,
  "io.modelcontextprotocol/clientCapabilities": {},
};
const newline = 0x0a;

export interface ServerCommand {
  readonly file: string;
  readonly args?: readonly string[];
  readonly execArgs?: readonly string[];
}

export interface Burst {
  readonly inFlight: number;
  /** Stop sending after this long, or after this many calls. */
  readonly forMs?: number;
  readonly calls?: number;
  readonly tool: string;
  readonly argumentsOf: (n: number) => object;
  /** Called after each answer; keep it cheap. */
  readonly onAnswer?: (answered: number) => void;
}

export interface BurstResult {
  readonly calls: number;
  readonly elapsedMs: number;
  readonly ratePerSecond: number;
}

/**
 * The lightest possible client of the protocol: it writes lines, counts line breaks in the output, and checks every answer for an error. The floor and the product use
 * the same client, so its own cost is in both.
 */
export class LineClient {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #era: Era;
  #onChunk: (chunk: Buffer) => void = () => {};
  #fail: (error: Error) => void = () => {};
  #nextId = 1;

  constructor({ file, args = [], execArgs = [] }: ServerCommand, era: Era) {
    this.#era = era;
    this.#child = spawn(process.execPath, [...execArgs, file, ...args], { stdio: ["pipe", "pipe", "inherit"] });
    this.#child.stdout.on("data", (chunk: Buffer) => this.#onChunk(chunk));
    this.#child.stdin.on("error", (error) => this.#fail(error));
    this.#child.on("exit", (code) => this.#fail(new Error(`The server ended with ${code} in the middle of a measurement.`)));
  }

  static async open(command: ServerCommand, era: Era = "handshake"): Promise<LineClient> {
    const client = new LineClient(command, era);
    await client.greet();
    return client;
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** The first exchange of a connection; resolves with the first answer. */
  async greet(): Promise<void> {
    if (this.#era === "stateless") {
      await this.request("server/discover", {});
      return;
    }
    await this.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
    this.#child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  }

  async request(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> {
    const id = this.#nextId++;
    const line = await new Promise<Buffer>((resolve, reject) => {
      this.#fail = reject;
      const parts: Buffer[] = [];
      this.#onChunk = (chunk) => {
        parts.push(chunk);
        if (chunk.at(-1) === newline) resolve(Buffer.concat(parts));
      };
      const meta = this.#era === "stateless" ? { _meta: envelope } : {};
      this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, ...meta } })}\n`);
    });
    const { result, error } = JSON.parse(line.toString()) as { result?: Record<string, unknown>; error?: unknown };
    if (result === undefined || result.isError === true) throw new Error(`${method} failed: ${JSON.stringify(error ?? result)}`);
    return result;
  }

  async call(tool: string, args: object): Promise<Record<string, unknown>> {
    const { structuredContent } = await this.request("tools/call", { name: tool, arguments: args });
    return structuredContent as Record<string, unknown>;
  }

  /** Keeps `inFlight` calls open until the time or the count is reached, then waits for the remaining answers. */
  burst({ inFlight, forMs = Number.POSITIVE_INFINITY, calls = Number.POSITIVE_INFINITY, tool, argumentsOf, onAnswer }: Burst): Promise<BurstResult> {
    const end = this.#era === "stateless" ? `,"_meta":${JSON.stringify(envelope)}}}\n` : "}}\n";
    const firstId = this.#nextId;
    let sent = 0;
    let answered = 0;
    const startedMs = performance.now();
    const lines = (count: number): string => {
      let text = "";
      for (let i = 0; i < count; i += 1, sent += 1)
        text += `{"jsonrpc":"2.0","id":${this.#nextId++},"method":"tools/call","params":{"name":"${tool}","arguments":${JSON.stringify(argumentsOf(sent))}${end}`;
      return text;
    };
    return new Promise((resolve, reject) => {
      this.#fail = reject;
      this.#onChunk = (chunk) => {
        if (chunk.includes('"error":')) return reject(new Error(`${tool} failed between requests ${firstId} and ${this.#nextId}: ${chunk.toString().slice(0, 2_000)}`));
        let found = 0;
        for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, at + 1)) found += 1;
        for (let i = 0; i < found; i += 1) onAnswer?.(answered + i);
        answered += found;
        const elapsedMs = performance.now() - startedMs;
        if (elapsedMs < forMs && sent < calls) {
          const more = Math.min(found, calls - sent);
          if (more > 0) this.#child.stdin.write(lines(more));
        } else if (answered === sent) resolve({ calls: answered, elapsedMs, ratePerSecond: (answered / elapsedMs) * 1_000 });
      };
      this.#child.stdin.write(lines(Math.min(inFlight, calls)));
    });
  }

  /** Resident memory as reported by the operating system. */
  residentBytes(): number {
    const found = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${this.pid}/status`, "utf8"));
    if (found === null) throw new Error("The operating system does not report the memory of a process.");
    return Number(found[1]) * 1_024;
  }

  /** Ends the server as a client does, by closing its input. */
  async close(): Promise<void> {
    this.#fail = () => {};
    if (this.#child.exitCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.stdin.end();
    const impatience = setTimeout(() => this.#child.kill("SIGKILL"), 5_000);
    await ended;
    clearTimeout(impatience);
  }
}
