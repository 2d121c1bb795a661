import type { ChildProcessByStdio } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { connect } from "node:net";
import type { Readable, Writable } from "node:stream";
import type { ServerCommand } from "./line-client.ts";
import { envelope } from "./line-client.ts";

export interface HttpBurst {
  readonly forMs?: number;
  readonly calls?: number;
  readonly tool: string;
  readonly argumentsOf: (n: number) => object;
}

export interface HttpBurstResult {
  readonly calls: number;
  readonly ratePerSecond: number;
  /** CPU time of the server, user and system. */
  readonly cpuMicros: number;
}

/** The operating system's unit of CPU time: hundredths of a second, on every Linux. */
const tickMicros = 10_000;
const headEnd = Buffer.from("\r\n\r\n");

/** A server in a separate process that describes itself in its first line of output. */
export class BenchProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  #rest = "";
  #onLine: (line: string) => void = () => {};
  #fail: (error: Error) => void = () => {};

  constructor({ file, args = [], execArgs = [] }: ServerCommand) {
    this.#child = spawn(process.execPath, [...execArgs, file, ...args], { stdio: ["pipe", "pipe", "inherit"] });
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (this.#rest + text).split("\n");
      this.#rest = lines.pop() as string;
      for (const line of lines) this.#onLine(line);
    });
    this.#child.on("exit", (code) => this.#fail(new Error(`The server ended with ${code} in the middle of a measurement.`)));
  }

  /** Its next line, as JSON; `say` is written first. */
  async answer<Answer>(say?: object): Promise<Answer> {
    const line = new Promise<string>((resolve, reject) => {
      this.#onLine = resolve;
      this.#fail = reject;
    });
    if (say !== undefined) this.#child.stdin.write(`${JSON.stringify(say)}\n`);
    return JSON.parse(await line) as Answer;
  }

  cpuMicros(): number {
    const fields = readFileSync(`/proc/${this.#child.pid}/stat`, "utf8").split(") ")[1]?.split(" ") as string[];
    return (Number(fields[11]) + Number(fields[12])) * tickMicros;
  }

  async close(): Promise<void> {
    this.#fail = () => {};
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    await ended;
  }
}

/**
 * The lightest possible HTTP client: one request at a time on each of its connections, built by hand; responses are delimited by their stated length and checked for
 * errors. Floors and product use the same client, so its own cost is in none of the CPU figures and equally in all rates.
 */
export class HttpClient {
  readonly #process: BenchProcess;
  readonly #sockets: Socket[];
  readonly #head: string;
  #nextId = 1;

  constructor(server: BenchProcess, sockets: Socket[], head: string) {
    this.#process = server;
    this.#sockets = sockets;
    this.#head = head;
  }

  static async open(command: ServerCommand, connections: number): Promise<HttpClient> {
    const server = new BenchProcess(command);
    const { url } = await server.answer<{ url: string }>();
    const { hostname, port } = new URL(url);
    const sockets = await Promise.all(
      Array.from({ length: connections }, async () => {
        const socket = connect(Number(port), hostname);
        socket.setNoDelay(true);
        // The close that follows reports the error.
        socket.on("error", () => {});
        await once(socket, "connect");
        return socket;
      }),
    );
    return new HttpClient(server, sockets, `POST /mcp HTTP/1.1\r\nhost: ${hostname}:${port}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n`);
  }

  /** Keeps one call open on every connection until the time or the count is reached, then waits for the remaining answers. */
  async burst({ forMs = Number.POSITIVE_INFINITY, calls = Number.POSITIVE_INFINITY, tool, argumentsOf }: HttpBurst): Promise<HttpBurstResult> {
    const cpu = this.#process.cpuMicros();
    const startedMs = performance.now();
    let sent = 0;
    const next = (): string | undefined => {
      if (sent >= calls || performance.now() - startedMs >= forMs) return undefined;
      sent += 1;
      return this.#request(tool, argumentsOf(sent));
    };
    await Promise.all(this.#sockets.map((socket) => drive(socket, next)));
    return { calls: sent, ratePerSecond: (sent / (performance.now() - startedMs)) * 1_000, cpuMicros: this.#process.cpuMicros() - cpu };
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await this.#process.close();
  }

  #request(tool: string, args: object): string {
    const body = JSON.stringify({ jsonrpc: "2.0", id: this.#nextId++, method: "tools/call", params: { name: tool, arguments: args, _meta: envelope } });
    return `${this.#head}mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: ${tool}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  }
}

/** One request after the other on one connection. */
function drive(socket: Socket, next: () => string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    let pending: Buffer | undefined;
    const stop = (error?: Error): void => {
      socket.off("data", onData);
      socket.off("close", onClose);
      if (error === undefined) resolve();
      else reject(error);
    };
    const send = (): void => {
      const request = next();
      if (request === undefined) stop();
      else socket.write(request);
    };
    const onClose = (): void => stop(new Error("The server closed a connection in the middle of a measurement."));
    const onData = (chunk: Buffer): void => {
      pending = pending === undefined ? chunk : Buffer.concat([pending, chunk]);
      const at = pending.indexOf(headEnd);
      if (at === -1) return;
      const head = pending.toString("latin1", 0, at);
      const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
      const isChunked = length === undefined;
      // The SDK does not state the length of its responses; their chunks end with an empty one.
      if (isChunked ? pending.lastIndexOf("0\r\n\r\n") !== pending.length - 5 : pending.length < at + 4 + Number(length)) return;
      const answer = pending;
      pending = undefined;
      if (!head.startsWith("HTTP/1.1 200") || answer.includes('"isError":true') || answer.includes('"error":'))
        return stop(new Error(`A call failed: ${answer.toString().slice(0, 2_000)}`));
      send();
    };
    socket.on("data", onData);
    socket.on("close", onClose);
    send();
  });
}
