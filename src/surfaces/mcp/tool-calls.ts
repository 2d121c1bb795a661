import { HoldfastError } from "../../kernel/errors.ts";
import { randomHex } from "../../kernel/ids.ts";
import type { Log } from "../../kernel/log.ts";
import { describeTool } from "../../tools/describe-tool.ts";
import type { ToolBase, ToolCall, ToolOutcome } from "../../tools/run-tool.ts";
import { runTool } from "../../tools/run-tool.ts";
import type { Tool } from "../../tools/tool.ts";

export const requestKeyMember = "holdfast/request-key";

/** Calls running at once on one connection; over it a call is refused at once instead of queueing without end. */
export const callsInFlightMax = 1_000;

/** What a call came to; `answerOf` makes the answer of it, which is several times larger. */
export interface CallOutcome {
  readonly outcome: ToolOutcome;
  readonly tool?: Tool;
}

/** A tool's answer, made JSON once: the text block and the structured content are the same bytes, unless the tool has words of its own. */
interface ToolAnswer {
  readonly structured: Record<string, unknown>;
  readonly json: string;
  readonly texts: readonly string[];
  readonly isError: boolean;
}

/** Calls by name for one connection; both roads, the direct one and the SDK's, end here. */
export class ToolCalls {
  readonly tools: readonly Tool[];
  readonly #byName: ReadonlyMap<string, Tool>;
  readonly #base: ToolBase;
  readonly #log: Log;
  readonly #onEase: () => void;
  readonly #waits = new Set<AbortController>();
  #stopped = false;
  #inFlight = 0;
  #listJson: string | undefined;

  /** `onEase`: a call has ended, or has begun to wait for something. */
  constructor(tools: readonly Tool[], base: ToolBase, log: Log, onEase: () => void = () => {}) {
    this.tools = tools;
    this.#byName = new Map(tools.map((tool) => [tool.name, tool]));
    this.#base = { ...base, connection: base.connection ?? `session-${randomHex(12)}` };
    this.#log = log;
    this.#onEase = onEase;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Those of the calls in flight that wait for something to happen: they have asked for their signal, as nothing else does. */
  get waiting(): number {
    return this.#waits.size;
  }

  /** Nobody will hear what waiting calls wait for: they and those to come go on at once with what they have. Calls that write just finish. */
  stopWaiting(): void {
    this.#stopped = true;
    for (const wait of this.#waits) wait.abort();
  }

  has(name: string): boolean {
    return this.#byName.has(name);
  }

  /** The `tools` member of tools/list, as JSON made once. */
  get listJson(): string {
    this.#listJson ??= JSON.stringify(this.tools.map(describeTool));
    return this.#listJson;
  }

  /** The tool must exist: ask `has` first. Never rejects. */
  async call(name: string, args: unknown, requestKey: unknown, call: ToolCall): Promise<ToolAnswer> {
    return answerOf(await this.run(name, args, requestKey, call));
  }

  /** Like `call`, for whoever makes the answer later. */
  async run(name: string, args: unknown, requestKey: unknown, call: ToolCall): Promise<CallOutcome> {
    if (this.#inFlight >= callsInFlightMax)
      return failed(new HoldfastError("unavailable", `${callsInFlightMax} calls are already in flight on this connection.`, { hint: "Wait for answers before calling again." }));
    if (requestKey !== undefined && typeof requestKey !== "string")
      return failed(new HoldfastError("invalid_input", `_meta["${requestKeyMember}"]: must be a string`, { details: { field: requestKeyMember } }));
    this.#inFlight += 1;
    let wait: AbortController | undefined;
    // The signal stays lazy: most calls never wait and need none.
    const beginWait = (): AbortSignal => {
      wait ??= this.#beginWait(call);
      return wait.signal;
    };
    const watched: ToolCall = {
      requestKey,
      get signal() {
        return beginWait();
      },
    };
    try {
      const tool = this.#byName.get(name) as Tool;
      return { outcome: await runTool(tool, args, this.#base, watched, this.#log), tool };
    } finally {
      this.#inFlight -= 1;
      if (wait !== undefined) this.#waits.delete(wait);
      this.#onEase();
    }
  }

  #beginWait(call: ToolCall): AbortController {
    const wait = new AbortController();
    this.#waits.add(wait);
    const cancelled = call.signal;
    if (this.#stopped || cancelled?.aborted) wait.abort();
    else cancelled?.addEventListener("abort", () => wait.abort(), { once: true });
    this.#onEase();
    return wait;
  }
}

export function answerOf({ outcome, tool }: CallOutcome): ToolAnswer {
  const structured = outcome.ok ? outcome.structured : { error: outcome.error };
  const json = JSON.stringify(structured);
  return { structured, json, texts: (outcome.ok ? tool?.render?.(structured) : undefined) ?? [json], isError: !outcome.ok };
}

const failed = ({ code, message, hint, details }: HoldfastError): CallOutcome => ({ outcome: { ok: false, error: { code, message, hint, details } } });

/** A tool that was left out is refused like one that never was. */
export const unknownToolMessage = (name: string): string =>
  `Tool ${JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name)} is not offered here: tools/list names every tool of this server. It may be misspelt, or left out by --read-only, --tools or --profile.`;
