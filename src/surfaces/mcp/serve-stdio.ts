import type { Readable, Writable } from "node:stream";
import { Budget } from "../../kernel/budget.ts";
import { randomHex } from "../../kernel/ids.ts";
import type { Log } from "../../kernel/log.ts";
import { AnswerGates } from "../../store/answer-gates.ts";
import { shortened } from "../../tools/input-problems.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import type { Tool } from "../../tools/tool.ts";
import { ClientRoots } from "./client-roots.ts";
import { DirectAnswers } from "./direct-answers.ts";
import { unknownVersionIn } from "./era-envelope.ts";
import { FastPath } from "./fast-path.ts";
import { greet, statelessVersion } from "./greeting.ts";
import { instructionsFor } from "./instructions.ts";
import type { Message, RequestId } from "./json-rpc.ts";
import { errorLine, isRequest, rpcErrors } from "./json-rpc.ts";
import { LineReader } from "./line-reader.ts";
import { LineWriter } from "./line-writer.ts";
import { batchVersion, messageLimits, readBatch, readMessage } from "./read-message.ts";
import { Resources } from "./resources.ts";
import type { SdkHandler } from "./sdk-handler.ts";
import { ToolCalls } from "./tool-calls.ts";

export interface ServeMcpStdioOptions {
  readonly context: ToolBase;
  /** The tools this server offers; others are rejected as unknown. */
  readonly tools: readonly Tool[];
  readonly log: Log;
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** Default: a text built for the offered tools. */
  readonly instructions?: string;
  /** False sends everything through the SDK; the responses are the same. */
  readonly fastPath?: boolean;
}

/** How long calls may run after the client closed its end, and how long they may then take to react to cancellation. */
const endGraceMs = 1_000;
const cancelGraceMs = 500;

/** The maximum number of calls that run at once, not counting those that only wait for something. */
const callsAtWorkMax = 64;
/**
 * Memory for data that calls have read and hold until their responses are built. One write can wake every call that waits for it. Together with the limit
 * on unsent output, this bounds how much memory a client that does not read can occupy.
 */
const answersBytesMax = 12_582_912;
/** Input is paused at most this long for requests that stay unanswered. */
const lostAfterMs = 2_000;

/** Serves MCP in both protocol eras over a pair of streams, and resolves when the client has disconnected. Writes only protocol messages. */
export async function serveMcpStdio(options: ServeMcpStdioOptions): Promise<void> {
  await new Connection(options).serve();
}

/** The context of one connection. The client's open folders are a better guide to where the caller works than the server's start folder. */
function contextFor(context: ToolBase, roots: ClientRoots): ToolBase {
  const own = { ...context, connection: context.connection ?? `session-${randomHex(12)}` };
  const { surroundings } = context.server;
  if (surroundings === undefined) return own;
  return { ...own, server: { ...context.server, surroundings: { ...surroundings, openFolder: () => roots.folderFor(surroundings.folder) } } };
}

class Connection {
  readonly #options: ServeMcpStdioOptions;
  readonly #context: ToolBase;
  readonly #writer: LineWriter;
  readonly #calls: ToolCalls;
  readonly #resources: Resources;
  readonly #gates = new AnswerGates({ budget: new Budget(answersBytesMax) });
  readonly #roots: ClientRoots;
  readonly #greeting: ReturnType<typeof greet>;
  readonly #fastPath: FastPath | undefined;
  readonly #gone: Promise<void>;
  #leave: () => void = () => {};
  #sdkHandler: SdkHandler | undefined;
  #sdkHandlerLoading: Promise<SdkHandler | undefined> | undefined;
  #waitingForSdk: Message[] = [];
  /** Called when a call ends or begins to wait, and when there is room for output. */
  #ease: () => void = () => {};
  #held = false;
  #takesBatches = false;
  #inputEnded = false;
  #ended = false;

  constructor(options: ServeMcpStdioOptions) {
    const { context, tools, log, stdout } = options;
    this.#options = options;
    this.#gone = new Promise((resolve) => {
      this.#leave = resolve;
    });
    this.#writer = new LineWriter(stdout, {
      onGone: (error) => {
        log("info", "client_gone", { problem: error.message });
        this.#leave();
      },
      onRoom: () => this.#ease(),
    });
    this.#roots = new ClientRoots((line) => this.#writer.write(line), context.clock);
    this.#context = contextFor(context, this.#roots);
    this.#calls = new ToolCalls({ tools, base: this.#context, log, onSettled: () => this.#ease() });
    this.#resources = new Resources(this.#context, this.#calls);
    this.#greeting = greet(context.server.version, options.instructions ?? instructionsFor(tools), tools);
    const answers = new DirectAnswers({ calls: this.#calls, resources: this.#resources, greeting: this.#greeting, log });
    this.#fastPath = options.fastPath === false ? undefined : new FastPath(answers, this.#writer, this.#gates);
  }

  async serve(): Promise<void> {
    const { stdin, log } = this.#options;
    const reader = new LineReader(
      { mayTake: () => this.#mayStart(), onLine: (line) => this.#take(line), onOverlong: () => this.#refuse(`A message must be at most ${messageLimits.bytesMax} bytes.`) },
      messageLimits.refusableBytesMax,
    );
    const onData = (chunk: Buffer): void => {
      if (reader.push(chunk)) return;
      // Many calls are running, or the client does not read: the rest waits, otherwise responses would pile up here.
      stdin.pause();
      void this.#hold(reader);
    };
    stdin.on("data", onData);
    stdin.once("end", () => {
      this.#inputEnded = true;
      this.#calls.stopWaiting();
      if (this.#held) return;
      reader.end();
      this.#leave();
    });
    stdin.once("close", () => {
      if (!this.#inputEnded) this.#leave();
    });
    stdin.on("error", (error) => {
      log("info", "client_gone", { problem: error.message });
      this.#leave();
    });
    await this.#gone;
    stdin.off("data", onData);
    stdin.pause();
    this.#ended = true;
    this.#ease();
    await this.#end();
  }

  /** Checked before each message, not once per chunk: a chunk may contain hundreds. */
  #mayStart(): boolean {
    if (this.#writer.congested) return false;
    const started = (this.#fastPath?.running ?? 0) + this.#waitingForSdk.length + (this.#sdkHandler?.unanswered ?? 0);
    return Math.max(started, this.#calls.inFlight) - this.#calls.waiting - this.#roots.waiting < callsAtWorkMax;
  }

  async #hold(reader: LineReader): Promise<void> {
    const { stdin, context } = this.#options;
    this.#held = true;
    while (!this.#ended) {
      const eased = new AbortController();
      this.#ease = () => eased.abort();
      if (reader.resume()) {
        this.#held = false;
        if (!this.#inputEnded) {
          stdin.resume();
          return;
        }
        reader.end();
        this.#leave();
        return;
      }
      await context.clock.rest(lostAfterMs, eased.signal);
      // The client has sent everything and no longer reads.
      if (!eased.signal.aborted && this.#inputEnded) this.#leave();
      if (!eased.signal.aborted && !this.#writer.congested && this.#calls.inFlight === this.#calls.waiting) this.#sdkHandler?.forgetUnanswered();
      // Calls that end in this turn are counted when the turn is over.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** The messages of a batch get separate responses: a client that may send batches need not accept them. */
  #take(line: Buffer): void {
    const batch = this.#takesBatches ? readBatch(line) : undefined;
    if (batch === undefined) this.#takeMessage(line);
    else if (batch.ok) for (const each of batch.lines) this.#takeMessage(each);
    else this.#refuse(batch.problem);
  }

  #takeMessage(line: Buffer): void {
    const read = readMessage(line);
    if (!read.ok) {
      this.#refuse(read.problem, read.id, read.code);
      return;
    }
    const { message } = read;
    if (isRequest(message) && message.method === "initialize") this.#takesBatches = message.params?.protocolVersion === batchVersion;
    const unknown = isRequest(message) ? unknownVersionIn(message.params) : undefined;
    if (isRequest(message) && unknown !== undefined) {
      const requested = shortened(unknown);
      this.#refuse(`Unsupported protocol version: ${requested}`, message.id, rpcErrors.unsupportedVersion, { supported: [statelessVersion], requested });
      return;
    }
    if (this.#roots.notice(message)) return;
    if (this.#fastPath?.take(message, this.#sdkHandlerLoading === undefined)) return;
    if (this.#sdkHandler !== undefined) {
      this.#sdkHandler.deliver(message);
      return;
    }
    this.#waitingForSdk.push(message);
    this.#sdkHandlerLoading ??= this.#loadSdkHandler();
  }

  async #loadSdkHandler(): Promise<SdkHandler | undefined> {
    const { log } = this.#options;
    const base = this.#context;
    try {
      const { SdkHandler } = await import("./sdk-handler.ts");
      this.#sdkHandler = new SdkHandler({
        base,
        log,
        greeting: this.#greeting,
        calls: this.#calls,
        resources: this.#resources,
        gates: this.#gates,
        opening: this.#fastPath?.opening,
        writer: this.#writer,
        onSettled: () => this.#ease(),
      });
      for (const message of this.#waitingForSdk) this.#sdkHandler.deliver(message);
      this.#waitingForSdk = [];
      return this.#sdkHandler;
    } catch (error) {
      // A broken installation: only the fast path could respond, so disconnect to show the client that something is wrong.
      log("error", "protocol_unavailable", { problem: error instanceof Error ? (error.stack ?? error.message) : String(error) });
      this.#leave();
      return undefined;
    }
  }

  #refuse(problem: string, id: RequestId | null = null, code: number = rpcErrors.invalidRequest, data?: unknown): void {
    this.#options.log("info", "message_refused", { problem });
    this.#writer.write(errorLine(id, code, problem, data));
  }

  /** Waiting calls give up at once; other calls get a short time to finish, and all of them get a response. */
  async #end(): Promise<void> {
    this.#calls.stopWaiting();
    const settled = Promise.all([this.#fastPath?.settled(), this.#sdkHandlerLoading?.then((sdkHandler) => sdkHandler?.settled())]);
    await this.#within(settled, endGraceMs);
    this.#fastPath?.cancelAll();
    const sdkHandler = await this.#sdkHandlerLoading;
    await sdkHandler?.close();
    await this.#within(settled, cancelGraceMs);
    const finished = this.#writer.finish();
    // A slow reader gets everything, as long as it keeps reading.
    for (let taken = -1; taken < this.#writer.taken; ) {
      taken = this.#writer.taken;
      await this.#within(finished, endGraceMs);
    }
  }

  async #within(work: Promise<unknown>, ms: number): Promise<void> {
    // Also ends the sleep: a leftover timer would keep the process alive.
    const done = new AbortController();
    await Promise.race([work, this.#options.context.clock.sleep(ms, done.signal)]);
    done.abort();
  }
}
