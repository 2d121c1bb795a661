import type { ErrorCode, HoldfastError } from "../kernel/errors.ts";
import { invalidInput, isHoldfastError } from "../kernel/errors.ts";
import { fingerprint } from "../kernel/json.ts";
import type { Log } from "../kernel/log.ts";
import type { Span } from "../kernel/span.ts";
import { limits } from "../store/limits.ts";
import type { ReadGate } from "../store/metered-store.ts";
import { meteredStore } from "../store/metered-store.ts";
import type { RequestKey } from "../store/store.ts";
import { readArguments } from "./lenient-arguments.ts";
import { requireNoSecret, withoutSecrets } from "./secret-switch.ts";
import type { Tool, ToolContext } from "./tool.ts";
import { requestKeyArgument } from "./tool.ts";
import { tracedStore } from "./traced-store.ts";

export interface ToolCall {
  /** Makes a retry safe: the same key and arguments give the first answer again. */
  readonly requestKey?: string;
  readonly signal?: AbortSignal;
  /** What the call is part of, where it is traced: commits become parts of it. */
  readonly span?: Span;
  /** Lets the call's reads begin when there is memory and time for them; absent when no one else is served. */
  readonly gate?: ReadGate;
}

export interface ToolFailure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string;
  readonly details?: Record<string, unknown>;
}

export type ToolOutcome = { readonly ok: true; readonly structured: Record<string, unknown> } | { readonly ok: false; readonly error: ToolFailure };

/** What stays the same from call to call. */
export type ToolBase = Omit<ToolContext, "request" | "signal" | "agent">;

/** Runs a tool, on every surface: parse strictly, run, check the own answer, name the failure. Never throws. */
export async function runTool(tool: Tool, args: unknown, base: ToolBase, call: ToolCall, log: Log): Promise<ToolOutcome> {
  const { observer } = base.server;
  if (observer === undefined) return run(tool, args, base, call, log);
  const beganMs = observer.began();
  const outcome = await run(tool, args, base, call, log);
  observer.ended(beganMs, tool, outcome);
  return outcome;
}

async function run(tool: Tool, args: unknown, base: ToolBase, call: ToolCall, log: Log): Promise<ToolOutcome> {
  let isRepeatable = false;
  try {
    const { requestKey, rest } = takeRequestKey(args, call);
    isRepeatable = requestKey !== undefined;
    const read = readArguments(tool, rest, base.server.profile);
    const { secrets } = base.server;
    const checkedArgs = secrets === undefined || tool.effect === "read" ? read.args : withoutSecrets(read.args, secrets);
    const output = await tool.handle(contextOf(tool, checkedArgs, base, call, requestKey), checkedArgs);
    const checked = tool.output.safeParse(output);
    if (!checked.success)
      return defect(tool, call, log, { problem: "the answer does not match its schema", issues: checked.error.issues.map(({ path, code }) => `${path.join(".")}: ${code}`) });
    return { ok: true, structured: withWarnings(output, read.warnings) };
  } catch (error) {
    if (!isHoldfastError(error)) return defect(tool, call, log, { problem: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    if (error.code === "internal") log("error", "tool_failed", { tool: tool.name, trace: call.span?.traceId, problem: error.stack, cause: String(error.cause) });
    const failure = failureOf(error, base.server.tellsOf === undefined);
    return { ok: false, error: isRepeatable ? ofThisCallAlone(failure) : failure };
  }
}

/** Every tool that writes takes `request_key` beside its own arguments; surfaces with a place of their own for it fill in the call's. */
function takeRequestKey(args: unknown, call: ToolCall): { readonly requestKey: unknown; readonly rest: unknown } {
  if (typeof args !== "object" || args === null || !Object.hasOwn(args, requestKeyArgument)) return { requestKey: call.requestKey, rest: args };
  const { [requestKeyArgument]: argument, ...rest } = args as Record<string, unknown>;
  const requestKey = argument === null || argument === "" ? undefined : argument;
  if (requestKey !== undefined && call.requestKey !== undefined && requestKey !== call.requestKey)
    throw invalidInput(requestKeyArgument, "differs from the request key that came with the call; give one of them");
  return { requestKey: requestKey ?? call.requestKey, rest };
}

/** A tool may have one of its own, such as a copy that could not be written. */
function withWarnings(output: Record<string, unknown>, warnings: readonly string[]): Record<string, unknown> {
  if (warnings.length === 0) return output;
  return { ...output, warning: [...(typeof output.warning === "string" ? [output.warning] : []), ...warnings].join("\n") };
}

function contextOf(tool: Tool, args: Record<string, unknown>, base: ToolBase, call: ToolCall, requestKey: unknown): ToolContext {
  // The label the caller gives itself: history shows it beside the writer, which it can never replace.
  const agent = (args.agent_id ?? args.holder_id) as string | undefined;
  const request = requestOf(tool, args, base.writer, requestKey);
  if (request !== undefined && base.server.secrets !== undefined) requireNoSecret(request.key, "request key");
  return new CallContext(base, call, agent, request);
}

/** A class, and not an object with a getter of its own: V8 makes a new hidden class for each of those, which keeps everything the getter sees until the next full collection. */
class CallContext implements ToolContext {
  readonly store: ToolContext["store"];
  readonly clock: ToolContext["clock"];
  readonly writer: string;
  readonly server: ToolContext["server"];
  readonly connection: string | undefined;
  readonly agent: string | undefined;
  readonly request: RequestKey | undefined;
  readonly #call: ToolCall;

  constructor(base: ToolBase, call: ToolCall, agent: string | undefined, request: RequestKey | undefined) {
    const store = call.gate === undefined ? base.store : meteredStore(base.store, call.gate);
    this.store = call.span === undefined ? store : tracedStore(store, call.span);
    this.clock = base.clock;
    this.writer = base.writer;
    this.server = base.server;
    this.connection = base.connection;
    this.agent = agent;
    this.request = request;
    this.#call = call;
  }

  /** Asked for late: surfaces create a signal only for the few calls that wait. */
  get signal(): AbortSignal | undefined {
    return this.#call.signal;
  }
}

/** A read needs no key: asking again is already safe. */
function requestOf(tool: Tool, args: Record<string, unknown>, writer: string, requestKey: unknown): RequestKey | undefined {
  if (requestKey === undefined || tool.effect === "read") return undefined;
  // It comes beside the tool's own arguments, so no schema has seen it.
  if (typeof requestKey !== "string" || requestKey === "" || Buffer.byteLength(requestKey) > limits.requestKeyBytesMax || requestKey.includes("\0") || !requestKey.isWellFormed())
    throw invalidInput("request key", `must be 1 to ${limits.requestKeyBytesMax} bytes of well-formed text without NUL`);
  // Two callers may think of the same key and ask for the same: neither may take the other's lease, claim or run for its own.
  return { key: requestKey, fingerprint: fingerprint({ tool: tool.name, args, writer }) };
}

function failureOf({ code, message, localMessage, hint, details }: HoldfastError, isLocal: boolean): ToolFailure {
  return { code, message: isLocal ? (localMessage ?? message) : message, ...(hint === undefined ? {} : { hint }), ...(details === undefined ? {} : { details }) };
}

/** Refusals given before anybody could look for the request key. */
const blindRefusals: ReadonlySet<ErrorCode> = new Set(["unavailable", "storage_full", "moved"]);

/** A request key says that there may have been an earlier call, of which a store that cannot be asked knows nothing. */
function ofThisCallAlone(failure: ToolFailure): ToolFailure {
  if (!blindRefusals.has(failure.code)) return failure;
  const hint = "An earlier call with this request key may have taken effect: ask again with the same key.";
  return {
    ...failure,
    message: failure.message.replace("nothing was changed", "this call changed nothing"),
    hint: failure.hint === undefined ? hint : `${failure.hint} ${hint}`,
  };
}

/** Ours, not the caller's: the log gets everything, the caller one fixed sentence without stack, path or query. */
function defect(tool: Tool, { span }: ToolCall, log: Log, facts: Record<string, unknown>): ToolOutcome {
  log("error", "tool_failed", { tool: tool.name, trace: span?.traceId, ...facts });
  return {
    ok: false,
    error: {
      code: "internal",
      message: "Holdfast failed in a way it should not; the server's log has the details.",
      hint: "Read before you write again: the change may have happened.",
    },
  };
}
