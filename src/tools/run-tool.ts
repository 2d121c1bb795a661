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
  /** Makes retries safe: the same key and arguments return the first answer. */
  readonly requestKey?: string;
  readonly signal?: AbortSignal;
  /** The span of the call, if it is traced; commits become its children. */
  readonly span?: Span;
  /** Delays the call's reads until there is memory and time for them; absent if there are no other callers. */
  readonly gate?: ReadGate;
}

export interface ToolFailure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string;
  readonly details?: Record<string, unknown>;
}

export type ToolOutcome = { readonly ok: true; readonly structured: Record<string, unknown> } | { readonly ok: false; readonly error: ToolFailure };

/** The parts of the context that are the same for every call. */
export type ToolBase = Omit<ToolContext, "request" | "signal" | "agent">;

/** Runs a tool, for every surface: parses the arguments strictly, runs the tool, validates the answer and classifies errors. Never throws. */
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

/** Every tool that writes accepts `request_key` next to its own arguments. Surfaces that carry the key elsewhere set it in the call. */
function takeRequestKey(args: unknown, call: ToolCall): { readonly requestKey: unknown; readonly rest: unknown } {
  if (typeof args !== "object" || args === null || !Object.hasOwn(args, requestKeyArgument)) return { requestKey: call.requestKey, rest: args };
  const { [requestKeyArgument]: argument, ...rest } = args as Record<string, unknown>;
  const requestKey = argument === null || argument === "" ? undefined : argument;
  if (requestKey !== undefined && call.requestKey !== undefined && requestKey !== call.requestKey)
    throw invalidInput(requestKeyArgument, "differs from the request key sent with the call; pass only one of them");
  return { requestKey: requestKey ?? call.requestKey, rest };
}

/** The tool may have set a warning already, such as a copy that could not be written. */
function withWarnings(output: Record<string, unknown>, warnings: readonly string[]): Record<string, unknown> {
  if (warnings.length === 0) return output;
  return { ...output, warning: [...(typeof output.warning === "string" ? [output.warning] : []), ...warnings].join("\n") };
}

function contextOf(tool: Tool, args: Record<string, unknown>, base: ToolBase, call: ToolCall, requestKey: unknown): ToolContext {
  // The label that the caller gives itself. History shows it next to the writer, which it can never replace.
  const agent = (args.agent_id ?? args.holder_id) as string | undefined;
  const request = requestOf(tool, args, base.writer, requestKey);
  if (request !== undefined && base.server.secrets !== undefined) requireNoSecret(request.key, "request key");
  return new CallContext(base, call, agent, request);
}

/**
 * A class rather than an object literal with a getter: V8 creates a hidden class for each such object,
 * which keeps everything the getter references until the next full collection.
 */
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

  /** A getter, because surfaces create a signal only for the few calls that wait. */
  get signal(): AbortSignal | undefined {
    return this.#call.signal;
  }
}

/** Reads need no key, because repeating them is safe. */
function requestOf(tool: Tool, args: Record<string, unknown>, writer: string, requestKey: unknown): RequestKey | undefined {
  if (requestKey === undefined || tool.effect === "read") return undefined;
  // The key is not part of the tool's schema, so it is checked here.
  if (typeof requestKey !== "string" || requestKey === "" || Buffer.byteLength(requestKey) > limits.requestKeyBytesMax || requestKey.includes("\0") || !requestKey.isWellFormed())
    throw invalidInput("request key", `must be 1 to ${limits.requestKeyBytesMax} bytes of well-formed text without NUL`);
  // Two callers may choose the same key for the same request. The writer is part of the
  // fingerprint, so that neither takes the other's lease, claim or run for its own.
  return { key: requestKey, fingerprint: fingerprint({ tool: tool.name, args, writer }) };
}

function failureOf({ code, message, localMessage, hint, details }: HoldfastError, isLocal: boolean): ToolFailure {
  return { code, message: isLocal ? (localMessage ?? message) : message, ...(hint === undefined ? {} : { hint }), ...(details === undefined ? {} : { details }) };
}

/** Errors raised before the request key could be looked up. */
const blindRefusals: ReadonlySet<ErrorCode> = new Set(["unavailable", "storage_full", "moved"]);

/** A request key means that there may have been an earlier call, and an unreachable store cannot say whether it took effect. */
function ofThisCallAlone(failure: ToolFailure): ToolFailure {
  if (!blindRefusals.has(failure.code)) return failure;
  const hint = "An earlier call with this request key may have taken effect: retry with the same key.";
  return {
    ...failure,
    message: failure.message.replace("nothing was changed", "this call changed nothing"),
    hint: failure.hint === undefined ? hint : `${failure.hint} ${hint}`,
  };
}

/** A bug in Holdfast. The log gets every detail; the caller gets a fixed message without stack, path or query. */
function defect(tool: Tool, { span }: ToolCall, log: Log, facts: Record<string, unknown>): ToolOutcome {
  log("error", "tool_failed", { tool: tool.name, trace: span?.traceId, ...facts });
  return {
    ok: false,
    error: {
      code: "internal",
      message: "Internal error; the server's log has the details.",
      hint: "Check the current state before you retry: the write may have taken effect.",
    },
  };
}
