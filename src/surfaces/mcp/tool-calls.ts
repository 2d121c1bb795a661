import { HoldfastError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import type { Span } from "../../kernel/span.ts";
import { answerTexts } from "../../tools/answer-texts.ts";
import { descriptionsOf } from "../../tools/describe-tool.ts";
import type { ToolBase, ToolCall, ToolOutcome } from "../../tools/run-tool.ts";
import { runTool } from "../../tools/run-tool.ts";
import type { Tool } from "../../tools/tool.ts";
import type { TracedRequest, TransportCall } from "./mcp-spans.ts";
import { endToolSpan, McpSpans } from "./mcp-spans.ts";

export const requestKeyMember = "holdfast/request-key";

/** The maximum number of calls in flight on one connection. More calls are rejected at once instead of queueing without limit. */
export const callsInFlightMax = 1_000;

/** The outcome of a call; `answerOf` builds the response from it, which is several times larger. */
export interface CallOutcome {
  readonly outcome: ToolOutcome;
  readonly tool?: Tool;
  /** The profile, if one was selected by name. */
  readonly profile?: string;
}

/** A tool's response, serialized once: the text block and the structured content are the same bytes, unless the tool has its own wording, which is then only in the text. */
interface ToolAnswer {
  readonly structured: Record<string, unknown>;
  readonly json: string;
  readonly texts: readonly string[];
  readonly isError: boolean;
}

export interface ToolCallsOptions {
  readonly tools: readonly Tool[];
  readonly base: ToolBase;
  readonly log: Log;
  /** A call has ended or has begun to wait. */
  readonly onSettled?: () => void;
  /** Listed after the tools; the code that mounted them handles their calls. */
  readonly elsewhere?: readonly { readonly name: string }[];
}

/** Calls tools by name, for one connection or for one caller over HTTP. Both the fast path and the SDK use it. */
export class ToolCalls {
  readonly tools: readonly Tool[];
  /** Set if calls are traced. */
  readonly spans: McpSpans | undefined;
  readonly #byName: ReadonlyMap<string, Tool>;
  readonly #base: ToolBase;
  readonly #log: Log;
  readonly #onSettled: (() => void) | undefined;
  readonly #elsewhere: readonly { readonly name: string }[];
  /** The waiting calls, each with the function to call when its wait is over. */
  readonly #waits = new Map<AbortController, (() => void) | undefined>();
  #stopped = false;
  #inFlight = 0;

  constructor({ tools, base, log, onSettled, elsewhere = [] }: ToolCallsOptions) {
    this.tools = tools;
    this.#byName = namesOf(tools);
    this.#base = base;
    this.spans = base.server.tracer && new McpSpans(base.server.tracer);
    this.#log = log;
    this.#onSettled = onSettled;
    this.#elsewhere = elsewhere;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** The calls in flight that are waiting. They are known by having used their signal, which no other call does. */
  get waiting(): number {
    return this.#waits.size;
  }

  /** The client has disconnected: waiting calls, and later ones, return at once with the data they have. Calls that write finish normally. */
  stopWaiting(): void {
    this.#stopped = true;
    for (const wait of this.#waits.keys()) wait.abort();
  }

  has(name: string): boolean {
    return this.#byName.has(name);
  }

  /** The code that mounted the tool responds to its calls. */
  hasElsewhere(name: string): boolean {
    return this.#elsewhere.some((tool) => tool.name === name);
  }

  /** The `tools` member of tools/list, as JSON. */
  get listJson(): string {
    return JSON.stringify([...descriptionsOf(this.tools), ...this.#elsewhere]);
  }

  /** The tool must exist: check `has` first. Never rejects. */
  async call(name: string, args: unknown, requestKey: unknown, call: TransportCall): Promise<ToolAnswer> {
    return answerOf(await this.run(name, args, requestKey, call));
  }

  /** Like `call`, for callers that build the response later. `connection`: one of several that share this instance. `request`: set if calls are traced. */
  async run(name: string, args: unknown, requestKey: unknown, call: TransportCall, connection?: string, request?: TracedRequest): Promise<CallOutcome> {
    const span = request && this.spans?.open({ ...request, tool: name, session: connection ?? this.#base.connection });
    if (span === undefined) return this.#run(name, args, requestKey, call, connection);
    const ended = await this.#run(name, args, requestKey, call, connection, span);
    endToolSpan(span, ended.outcome);
    return ended;
  }

  async #run(name: string, args: unknown, requestKey: unknown, call: TransportCall, connection?: string, span?: Span): Promise<CallOutcome> {
    if (this.#inFlight >= callsInFlightMax)
      return failed(new HoldfastError("unavailable", `${callsInFlightMax} calls are already in flight on this connection.`, { hint: "Wait for answers before calling again." }));
    if (requestKey !== undefined && typeof requestKey !== "string")
      return failed(new HoldfastError("invalid_input", `_meta["${requestKeyMember}"]: must be a string`, { details: { field: requestKeyMember } }));
    this.#inFlight += 1;
    const watched = new WatchedCall(requestKey, span, call.gate, () => this.#beginWait(call));
    try {
      const tool = this.#byName.get(name) as Tool;
      const base = connection === undefined ? this.#base : { ...this.#base, connection };
      return { outcome: await runTool(tool, args, base, watched, this.#log), tool, profile: base.server.profile };
    } finally {
      this.#inFlight -= 1;
      if (watched.wait !== undefined) this.#endWait(watched.wait);
      this.#onSettled?.();
    }
  }

  #beginWait(call: TransportCall): AbortController {
    const wait = new AbortController();
    this.#waits.set(wait, undefined);
    // This may end another of our waits at once, or this one.
    this.#waits.set(
      wait,
      call.onWait?.(() => wait.abort()),
    );
    const cancelled = call.signal;
    if (this.#stopped || cancelled?.aborted) wait.abort();
    else cancelled?.addEventListener("abort", () => wait.abort(), { once: true });
    this.#onSettled?.();
    return wait;
  }

  #endWait(wait: AbortController): void {
    const ended = this.#waits.get(wait);
    this.#waits.delete(wait);
    ended?.();
  }
}

/** One call whose wait can be ended. The signal is created lazily: most calls never wait and need none. */
class WatchedCall implements ToolCall {
  readonly requestKey: string | undefined;
  readonly span: Span | undefined;
  readonly gate: ToolCall["gate"];
  readonly #beginWait: () => AbortController;
  wait: AbortController | undefined;

  constructor(requestKey: string | undefined, span: Span | undefined, gate: ToolCall["gate"], beginWait: () => AbortController) {
    this.requestKey = requestKey;
    this.span = span;
    this.gate = gate;
    this.#beginWait = beginWait;
  }

  get signal(): AbortSignal {
    this.wait ??= this.#beginWait();
    return this.wait.signal;
  }
}

/** Callers with the same tools share data derived from them. */
const knownNames = new WeakMap<readonly Tool[], ReadonlyMap<string, Tool>>();

function namesOf(tools: readonly Tool[]): ReadonlyMap<string, Tool> {
  const known = knownNames.get(tools) ?? new Map(tools.map((tool) => [tool.name, tool]));
  knownNames.set(tools, known);
  return known;
}

export function answerOf({ outcome, tool, profile }: CallOutcome): ToolAnswer {
  const whole = outcome.ok ? outcome.structured : { error: outcome.error };
  const texts = outcome.ok && tool !== undefined ? answerTexts(tool, whole) : undefined;
  const structured = texts === undefined || tool?.wording === undefined || tool.wording.keptIn === profile ? whole : without(whole, tool.wording.field);
  const json = JSON.stringify(structured);
  return { structured, json, texts: texts ?? [json], isError: !outcome.ok };
}

function without(answer: Record<string, unknown>, field: string): Record<string, unknown> {
  const { [field]: _, ...rest } = answer;
  return rest;
}

const failed = ({ code, message, hint, details }: HoldfastError): CallOutcome => ({ outcome: { ok: false, error: { code, message, hint, details } } });

/** A tool that is not offered gets the same error as one that does not exist. */
export const unknownToolMessage = (name: string): string =>
  `Tool ${JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name)} is not offered by this server; tools/list names those that are. The name may be misspelt, or the tool excluded by --read-only, --tools or --profile.`;
