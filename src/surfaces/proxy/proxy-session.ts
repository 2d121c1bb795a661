import { isUtf8 } from "node:buffer";
import type { Readable, Writable } from "node:stream";
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import { TooLong } from "../../kernel/server-events.ts";
import type { Unanswered } from "../connect/bridge.ts";
import type { ServerMessage } from "../connect/messages-in.ts";
import { parseBounded } from "../connect/messages-in.ts";
import { answerBytesMax } from "../connect/read-answer.ts";
import type { Params, Request, RequestId } from "../mcp/json-rpc.ts";
import { errorLine, isPlainObject, isRequestId, rpcErrors } from "../mcp/json-rpc.ts";
import { LineReader } from "../mcp/line-reader.ts";
import { LineWriter } from "../mcp/line-writer.ts";
import { AwaitedAnswers } from "./awaited-answers.ts";
import type { CallRecords } from "./call-records.ts";
import type { JournalledCall } from "./journal-call.ts";
import { journalCall } from "./journal-call.ts";
import type { SentOutcome } from "./judge-answer.ts";
import { KnownTools } from "./known-tools.ts";
import { envelopeIn, OwnRequests } from "./own-requests.ts";
import { refusedLine } from "./proxy-answers.ts";
import type { CallPlace } from "./read-call.ts";
import { readEffectCall } from "./read-call.ts";
import type { ToolRule, ToolRules } from "./tool-rules.ts";
import type { OpenUpstream, Upstream } from "./upstream.ts";

export interface ProxyOptions {
  readonly open: OpenUpstream;
  readonly records: CallRecords;
  readonly rules: ToolRules;
  /** The run for which the proxy was started. */
  readonly place: CallPlace;
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly clock: Clock;
  readonly log: Log;
  /** How long calls in flight may continue after the client closes its side; 10 s by default. */
  readonly endMsMax?: number;
  /** How long the upstream may take to answer a cancelled call, which many servers never do; 10 s by default. */
  readonly cancelMsMax?: number;
  /** How long the upstream may take to answer what the proxy itself asks. */
  readonly askMsMax?: number;
}

/** With this many calls in flight, the proxy stops reading, and further calls wait on the client's side. */
const callsMax = 256;
/** How long recording the calls that were cut off may take. */
const recordMsMax = 20_000;

/** Serves MCP over a pair of streams. Passes on every message except calls of tools with an effect. Resolves when the session ends: false if the upstream ended first. */
export const serveProxy = (options: ProxyOptions): Promise<boolean> => new ProxySession(options).run();

class ProxySession {
  readonly #options: ProxyOptions;
  readonly #upstream: Upstream;
  readonly #client: LineWriter;
  readonly #toUpstream: LineWriter;
  readonly #fromClient: LineReader;
  readonly #fromUpstream: LineReader;
  readonly #known = new KnownTools();
  readonly #own = new OwnRequests();
  readonly #awaited = new AwaitedAnswers();
  readonly #calls = new Map<RequestId, AbortController>();
  readonly #running = new Set<Promise<void>>();
  /** Resolves when the previous call has been sent or has yielded its turn, so that calls reach the upstream in the client's order. */
  #turn: Promise<void> = Promise.resolve();
  #goneBecause: string | undefined;
  #breakOff: (reason: string) => void = () => {};

  constructor(options: ProxyOptions) {
    const { stdin, stdout, open, log } = options;
    this.#options = options;
    this.#upstream = open((unanswered) => this.#leaveUnanswered(unanswered));
    const { stdin: upstreamIn, stdout: upstreamOut } = this.#upstream;
    this.#client = new LineWriter(stdout, { onGone: () => void stdin.destroy(), onRoom: () => this.#resume(upstreamOut, this.#fromUpstream) });
    // Lines written to a closed upstream are lost; `ended` reports why it closed.
    this.#toUpstream = new LineWriter(upstreamIn, {
      onGone: (error) => log("info", "upstream_closed", { problem: error.message }),
      onRoom: () => this.#resume(stdin, this.#fromClient),
    });
    this.#fromClient = new LineReader(
      {
        onLine: (line) => this.#takeFromClient(line),
        mayTake: () => this.#calls.size < callsMax && !this.#toUpstream.congested && !this.#client.congested,
        onOverlong: () => this.#refuse(null, rpcErrors.invalidRequest, `A message may have ${answerBytesMax} bytes.`),
      },
      answerBytesMax,
    );
    this.#fromUpstream = new LineReader(
      {
        onLine: (line) => this.#takeFromUpstream(line.toString("utf8")),
        mayTake: () => !this.#client.congested,
        onOverlong: () => this.#breakOff("sent a message that is too large"),
      },
      answerBytesMax,
    );
  }

  async run(): Promise<boolean> {
    const { stdin, endMsMax = 10_000 } = this.#options;
    const broken = new Promise<string>((resolve) => {
      this.#breakOff = resolve;
    });
    const upstreamGone = Promise.race([this.#upstream.ended, broken]);
    this.#read(this.#upstream.stdout, this.#fromUpstream);
    const clientGone = this.#read(stdin, this.#fromClient);
    const first = await Promise.race([clientGone, upstreamGone]);
    if (first === undefined) {
      this.#fromClient.end();
      await this.#within(endMsMax, Promise.race([this.#settled(), upstreamGone]));
      // No new call begins after this.
      for (const call of this.#calls.values()) call.abort();
    }
    if (first !== undefined) this.#options.log("error", "upstream_ended", { problem: `The MCP server behind the proxy ${first}.` });
    const stopped = this.#upstream.stop();
    this.#lose(`the upstream ${first ?? (await upstreamGone)}`);
    await stopped;
    await this.#within(recordMsMax, this.#settled());
    await this.#client.finish();
    return first === undefined;
  }

  #read(stream: Readable, reader: LineReader): Promise<undefined> {
    return new Promise((resolve) => {
      const end = (): void => resolve(undefined);
      stream.on("data", (chunk: Buffer) => {
        if (!reader.push(chunk)) stream.pause();
      });
      stream.once("end", end).once("close", end).once("error", end);
    });
  }

  #resume(stream: Readable, reader: LineReader): void {
    if (stream.isPaused() && reader.resume()) stream.resume();
  }

  #refuse(id: RequestId | null, code: number, problem: string): void {
    this.#client.write(errorLine(id, code, problem));
  }

  #takeFromClient(line: Buffer): void {
    if (!isUtf8(line)) return this.#refuse(null, rpcErrors.parse, "The message is not UTF-8.");
    const text = line.toString("utf8");
    const value = parsedOr(text, tooLarge);
    if (value === tooLarge) return this.#refuse(null, rpcErrors.invalidRequest, "The message has too many members, or is nested too deep.");
    if (value === undefined) return this.#refuse(null, rpcErrors.parse, "The message is not JSON; send one JSON-RPC message at a time.");
    // One earlier protocol revision has batches. A batch that contains a call is split into its messages.
    if (Array.isArray(value) && value.some(isCall)) for (const message of value as readonly unknown[]) this.#takeMessage(message, JSON.stringify(message), text);
    else this.#takeMessage(value, text);
  }

  #takeMessage(message: unknown, text: string, readFrom = text): void {
    if (!isPlainObject(message)) return this.#toUpstream.write(text);
    const { method, id } = message;
    const params = isPlainObject(message.params) ? message.params : undefined;
    if (isCall(message)) return this.#takeCall(message, params, text, readFrom);
    if (method === "notifications/cancelled" && this.#cancel(params?.requestId)) return;
    if (method === "tools/list" && isRequestId(id) && !this.#awaited.has(id))
      this.#awaited.set(id, {
        answered: ({ result }, answer) => {
          this.#known.learn(result);
          this.#client.write(answer);
        },
        lost: ({ line }) => line !== undefined && this.#client.write(line),
      });
    this.#toUpstream.write(text);
  }

  #takeCall(message: Readonly<Record<string, unknown>>, params: Params | undefined, text: string, readFrom: string): void {
    const { id } = message;
    const name = params?.name;
    if (typeof name !== "string") return this.#toUpstream.write(text);
    const rule = this.#options.rules.get(name) ?? {};
    if (rule.kind === "read-only" || (rule.kind === undefined && this.#known.known(name) === true)) return this.#toUpstream.write(text);
    // A call without an id gets no answer to record. With an id already in use, the answer could be another call's.
    if (!isRequestId(id)) return this.#refuse(null, rpcErrors.invalidRequest, "id: must be a string or a whole number in a call of a tool");
    if (this.#calls.has(id)) return this.#refuse(id, rpcErrors.invalidRequest, "id: is that of another call that is in flight");
    const call = this.#run({ ...message, id, params } as unknown as Request, text, readFrom, name, rule).finally(() => {
      this.#calls.delete(id);
      this.#running.delete(call);
      this.#resume(this.#options.stdin, this.#fromClient);
    });
    this.#running.add(call);
  }

  async #run(message: Request, text: string, readFrom: string, tool: string, rule: ToolRule): Promise<void> {
    const { records, place, log } = this.#options;
    const { id, params } = message;
    const abort = new AbortController();
    this.#calls.set(id, abort);
    const before = this.#turn;
    let standAside = (): void => {};
    const own = new Promise<void>((resolve) => {
      standAside = resolve;
    });
    this.#turn = before.then(() => own);
    try {
      if (rule.kind === undefined && (await this.#known.isReadOnly(tool, (cursor) => this.#askTools(cursor, params)))) {
        if (!abort.signal.aborted) this.#toUpstream.write(text);
        return;
      }
      const call = readEffectCall(message, readFrom, place, rule.idempotentKeyField);
      const send: JournalledCall["send"] = async (line, live, onLate) => {
        await Promise.race([before, abortOf(AbortSignal.any([abort.signal, live.lost]))]);
        if (!abort.signal.aborted) await live.requireOwned();
        if (abort.signal.aborted) return { kind: "lost", reason: "the client cancelled it before it was sent", mayHaveHappened: false };
        const outcome = this.#send(id, line, onLate);
        standAside();
        return outcome;
      };
      const askReadOnly = (name: string, args: Params) => this.#askReadOnly(name, args, params);
      const answer = await journalCall({ call, message, line: text, rule, signal: abort.signal, records, log, standAside, send, askReadOnly });
      if (answer !== undefined) this.#client.write(answer);
    } catch (error) {
      log("warn", "call_refused", { tool, problem: String(error) });
      this.#client.write(refusedLine({ id, isStateless: envelopeIn(params) !== undefined }, error));
    } finally {
      standAside();
    }
  }

  #send(id: RequestId, line: string, onLate: (outcome: SentOutcome) => void): Promise<SentOutcome> {
    const reason = this.#goneBecause ?? (this.#toUpstream.gone ? "the upstream's input is closed" : undefined);
    if (reason !== undefined) return Promise.resolve({ kind: "lost", reason, mayHaveHappened: false });
    const outcome = this.#awaited.outcomeOf(id, onLate);
    this.#toUpstream.write(line);
    return outcome;
  }

  /** Returns true if the call never reached the upstream, so that the cancellation need not be passed on. */
  #cancel(id: unknown): boolean {
    const call = isRequestId(id) ? this.#calls.get(id) : undefined;
    if (call === undefined) return false;
    call.abort();
    if (!this.#awaited.has(id as RequestId)) return true;
    const isOver = this.#awaited.giveUp(id as RequestId, "the client cancelled it, and the upstream did not say what became of it");
    void this.#options.clock.rest(this.#options.cancelMsMax ?? 10_000).then(isOver);
    return false;
  }

  async #askTools(cursor: string | undefined, like: Params | undefined): Promise<Readonly<Record<string, unknown>> | undefined> {
    return (await this.#ask("tools/list", cursor === undefined ? {} : { cursor }, like))?.result;
  }

  async #askReadOnly(name: string, args: Params, like: Params | undefined): Promise<ServerMessage | undefined> {
    const rule = this.#options.rules.get(name)?.kind;
    if (rule === "read-only" || (rule === undefined && (await this.#known.isReadOnly(name, (cursor) => this.#askTools(cursor, like)))))
      return this.#ask("tools/call", { name, arguments: args }, like);
    this.#options.log("warn", "reconcile_tool_refused", { tool: name, problem: "it is not read-only" });
    return undefined;
  }

  #ask(method: string, params: Params, like: Params | undefined): Promise<ServerMessage | undefined> {
    if (this.#goneBecause !== undefined) return Promise.resolve(undefined);
    const { id, line } = this.#own.next(method, params, like);
    const over = new AbortController();
    const answer = new Promise<ServerMessage | undefined>((resolve) => this.#awaited.set(id, { answered: resolve, lost: () => resolve(undefined) }));
    // An answer that comes after that is not the client's either.
    const giveUp = this.#awaited.giveUp(id, "the upstream did not answer");
    void this.#options.clock.rest(this.#options.askMsMax ?? 30_000, over.signal).then(giveUp);
    this.#toUpstream.write(line);
    return answer.finally(() => over.abort());
  }

  #takeFromUpstream(text: string): void {
    // Parsing is skipped if the proxy awaits no answer and the tool list did not change.
    const value = this.#awaited.size > 0 || text.includes("list_changed") ? parsedOr(text, tooLarge) : undefined;
    if (value === tooLarge) return this.#breakOff("sent a message that is too large");
    const messages = (Array.isArray(value) ? value : [value]).filter(isPlainObject) as readonly ServerMessage[];
    if (messages.some(({ method }) => method === "notifications/tools/list_changed")) this.#known.forget();
    if (!messages.some((message) => this.#awaited.wants(message))) return this.#client.write(text);
    for (const message of messages) {
      const own = Array.isArray(value) ? JSON.stringify(message) : text;
      if (!this.#awaited.answer(message, own)) this.#client.write(own);
    }
  }

  #leaveUnanswered({ id, line, mayHaveHappened }: Unanswered): void {
    if (!this.#awaited.lose(id, { reason: problemIn(line), mayHaveHappened, line })) this.#client.write(line);
  }

  #lose(reason: string): void {
    this.#goneBecause = reason;
    this.#awaited.loseAll({ reason, mayHaveHappened: true });
  }

  async #settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  async #within(ms: number, work: Promise<unknown>): Promise<void> {
    const done = new AbortController();
    await Promise.race([work, this.#options.clock.sleep(ms, done.signal)]);
    done.abort();
  }
}

const isCall = (message: unknown): message is Readonly<Record<string, unknown>> => isPlainObject(message) && message.method === "tools/call";

const abortOf = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

const tooLarge = Symbol("too large");

function parsedOr(text: string, otherwise: typeof tooLarge): unknown {
  try {
    return parseBounded(text);
  } catch (error) {
    if (error instanceof TooLong) return otherwise;
    throw error;
  }
}

/** The message of the transport's error. */
function problemIn(line: string): string {
  const { error } = JSON.parse(line) as { readonly error?: { readonly message?: string } };
  return (error?.message ?? "the request was not answered").replace(/\.$/, "");
}
