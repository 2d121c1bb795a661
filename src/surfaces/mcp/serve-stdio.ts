import type { Readable, Writable } from "node:stream";
import type { Log } from "../../kernel/log.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import type { Tool } from "../../tools/tool.ts";
import { DirectRoad } from "./direct-road.ts";
import { greet } from "./greeting.ts";
import { instructionsFor } from "./instructions.ts";
import type { Message } from "./json-rpc.ts";
import { errorLine, rpcErrors } from "./json-rpc.ts";
import { LineReader } from "./line-reader.ts";
import { LineWriter } from "./line-writer.ts";
import { messageLimits, readMessage } from "./read-message.ts";
import { Resources } from "./resources.ts";
import type { SdkLane } from "./sdk-lane.ts";
import { ToolCalls } from "./tool-calls.ts";

export interface ServeMcpStdioOptions {
  readonly context: ToolBase;
  /** Those that this server offers; others are refused as unknown. */
  readonly tools: readonly Tool[];
  readonly log: Log;
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** Default: a text made for the tools offered. */
  readonly instructions?: string;
  /** False sends everything through the SDK; the answers are the same. */
  readonly directRoad?: boolean;
}

/** How long calls may go on after the client closed its end, and how long they then have to notice that they are cancelled. */
const endGraceMs = 1_000;
const cancelGraceMs = 500;

/** Serves MCP over a pair of streams, both protocol eras, and resolves when the client is gone. Writes nothing but protocol. */
export async function serveMcpStdio(options: ServeMcpStdioOptions): Promise<void> {
  await new Connection(options).serve();
}

class Connection {
  readonly #options: ServeMcpStdioOptions;
  readonly #writer: LineWriter;
  readonly #calls: ToolCalls;
  readonly #greeting: ReturnType<typeof greet>;
  readonly #road: DirectRoad | undefined;
  readonly #gone: Promise<void>;
  #leave: () => void = () => {};
  #lane: SdkLane | undefined;
  #laneLoading: Promise<SdkLane | undefined> | undefined;
  #waitingForLane: Message[] = [];

  constructor(options: ServeMcpStdioOptions) {
    const { context, tools, log, stdout } = options;
    this.#options = options;
    this.#gone = new Promise((resolve) => {
      this.#leave = resolve;
    });
    this.#writer = new LineWriter(stdout, (error) => {
      log("info", "client_gone", { problem: error.message });
      this.#leave();
    });
    this.#calls = new ToolCalls(tools, context, log);
    this.#greeting = greet(context.server.version, options.instructions ?? instructionsFor(tools), tools);
    this.#road = options.directRoad === false ? undefined : new DirectRoad(this.#calls, this.#greeting, (line) => this.#writer.write(line));
  }

  async serve(): Promise<void> {
    const { stdin, log } = this.#options;
    const reader = new LineReader(
      { onLine: (line) => this.#take(line), onOverlong: () => this.#refuse(`A message may have ${messageLimits.bytesMax} bytes.`) },
      messageLimits.refusableBytesMax,
    );
    const onData = (chunk: Buffer): void => {
      reader.push(chunk);
      if (!this.#writer.congested) return;
      // The client does not read: take no more until it does, or its answers would pile up here.
      stdin.pause();
      this.#writer.whenDrained(() => stdin.resume());
    };
    stdin.on("data", onData);
    stdin.once("end", () => {
      reader.end();
      this.#leave();
    });
    stdin.once("close", this.#leave);
    stdin.on("error", (error) => {
      log("info", "client_gone", { problem: error.message });
      this.#leave();
    });
    await this.#gone;
    stdin.off("data", onData);
    stdin.pause();
    await this.#end();
  }

  #take(line: Buffer): void {
    const read = readMessage(line);
    if (!read.ok) {
      this.#options.log("info", "message_refused", { problem: read.problem });
      this.#writer.write(errorLine(read.id, read.code, read.problem));
      return;
    }
    const { message } = read;
    if (this.#road?.take(message, this.#laneLoading === undefined)) return;
    if (this.#lane !== undefined) {
      this.#lane.deliver(message);
      return;
    }
    this.#waitingForLane.push(message);
    this.#laneLoading ??= this.#loadLane();
  }

  async #loadLane(): Promise<SdkLane | undefined> {
    const { context: base, log } = this.#options;
    try {
      const { SdkLane } = await import("./sdk-lane.ts");
      const resources = new Resources(base, this.#calls);
      this.#lane = new SdkLane({ base, log, greeting: this.#greeting, calls: this.#calls, resources, opening: this.#road?.opening, send: (line) => this.#writer.write(line) });
      for (const message of this.#waitingForLane) this.#lane.deliver(message);
      this.#waitingForLane = [];
      return this.#lane;
    } catch (error) {
      // A broken installation: nothing beyond the direct road can be answered, and the client should see that we are gone.
      log("error", "protocol_unavailable", { problem: error instanceof Error ? (error.stack ?? error.message) : String(error) });
      this.#leave();
      return undefined;
    }
  }

  #refuse(problem: string): void {
    this.#options.log("info", "message_refused", { problem });
    this.#writer.write(errorLine(null, rpcErrors.invalidRequest, problem));
  }

  /** What is in flight may finish, briefly; what waits for something is cancelled. */
  async #end(): Promise<void> {
    const settled = Promise.all([this.#road?.settled(), this.#laneLoading?.then((lane) => lane?.settled())]);
    await this.#within(settled, endGraceMs);
    this.#road?.cancelAll();
    const lane = await this.#laneLoading;
    await lane?.close();
    await this.#within(settled, cancelGraceMs);
    await this.#within(this.#writer.finish(), cancelGraceMs);
  }

  async #within(work: Promise<unknown>, ms: number): Promise<void> {
    // Ends the sleep too: a timer left behind would keep the process alive.
    const done = new AbortController();
    await Promise.race([work, this.#options.context.clock.sleep(ms, done.signal)]);
    done.abort();
  }
}
