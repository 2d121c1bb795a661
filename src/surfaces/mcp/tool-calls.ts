import { HoldfastError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { describeTool } from "../../tools/describe-tool.ts";
import type { ToolBase, ToolCall, ToolOutcome } from "../../tools/run-tool.ts";
import { runTool } from "../../tools/run-tool.ts";
import type { Tool } from "../../tools/tool.ts";

export const requestKeyMember = "holdfast/request-key";

/** Calls running at once on one connection; over it a call is refused at once instead of queueing without end. */
export const callsInFlightMax = 1_000;

/** A tool's answer, made JSON once: the text block and the structured content are the same bytes. */
interface ToolAnswer {
  readonly structured: Record<string, unknown>;
  readonly json: string;
  readonly isError: boolean;
}

/** Calls by name for one connection; both roads, the direct one and the SDK's, end here. */
export class ToolCalls {
  readonly tools: readonly Tool[];
  readonly #byName: ReadonlyMap<string, Tool>;
  readonly #base: ToolBase;
  readonly #log: Log;
  #inFlight = 0;
  #listJson: string | undefined;

  constructor(tools: readonly Tool[], base: ToolBase, log: Log) {
    this.tools = tools;
    this.#byName = new Map(tools.map((tool) => [tool.name, tool]));
    this.#base = base;
    this.#log = log;
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
    if (this.#inFlight >= callsInFlightMax)
      return failed(new HoldfastError("unavailable", `${callsInFlightMax} calls are already in flight on this connection.`, { hint: "Wait for answers before calling again." }));
    if (requestKey !== undefined && typeof requestKey !== "string")
      return failed(new HoldfastError("invalid_input", `_meta["${requestKeyMember}"]: must be a string`, { details: { field: requestKeyMember } }));
    this.#inFlight += 1;
    try {
      return answerOf(await runTool(this.#byName.get(name) as Tool, args, this.#base, requestKey === undefined ? call : withKey(call, requestKey), this.#log));
    } finally {
      this.#inFlight -= 1;
    }
  }
}

/** The signal stays lazy: most calls are never cancelled and need none. */
const withKey = (call: ToolCall, requestKey: string): ToolCall => ({
  requestKey,
  get signal() {
    return call.signal;
  },
});

function answerOf(outcome: ToolOutcome): ToolAnswer {
  const structured = outcome.ok ? outcome.structured : { error: outcome.error };
  return { structured, json: JSON.stringify(structured), isError: !outcome.ok };
}

const failed = ({ code, message, hint, details }: HoldfastError): ToolAnswer => answerOf({ ok: false, error: { code, message, hint, details } });

/** A tool that was left out is refused like one that never was. */
export const unknownToolMessage = (name: string): string =>
  `Tool ${JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name)} is not offered here: tools/list names every tool of this server. It may be misspelt, or left out by --read-only, --tools or --profile.`;
