import type { Span, SpanAttributes, TraceContext, Tracer } from "../../kernel/span.ts";
import type { ToolCall, ToolOutcome } from "../../tools/run-tool.ts";
import type { RequestId } from "./json-rpc.ts";
import { isPlainObject } from "./json-rpc.ts";

/** The origin of a request, as far as the transport knows it. */
export interface CallOrigin {
  readonly protocolVersion?: string;
  /** From the transport's own headers. */
  readonly context?: TraceContext;
  readonly attributes?: SpanAttributes;
}

/** A call with its transport's data. */
export interface TransportCall extends ToolCall {
  readonly origin?: CallOrigin;
  /** The call begins to wait; `end` makes it stop. The returned function is called when the wait is over. */
  onWait?(end: () => void): () => void;
}

/** One request, as a span reports it. */
export interface TracedRequest {
  readonly method: string;
  readonly id?: RequestId;
  /** The unmodified `_meta` of its parameters. */
  readonly meta?: unknown;
  readonly tool?: string;
  readonly prompt?: string;
  readonly uri?: string;
  readonly protocolVersion?: string;
  /** The session's label; never its secret id. */
  readonly session?: string;
  readonly origin?: CallOrigin;
}

/**
 * Server spans of MCP requests, named by OpenTelemetry's conventions for MCP. They contain the method and its outcome, but no arguments, results or
 * error texts, because those are the caller's data.
 */
export class McpSpans {
  readonly #tracer: Tracer;

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  open({ method, id, meta, tool, prompt, uri, protocolVersion, session, origin }: TracedRequest): Span | undefined {
    const target = tool ?? prompt;
    const message = isPlainObject(meta) ? { traceparent: meta.traceparent, tracestate: meta.tracestate } : undefined;
    return this.#tracer.server(
      target === undefined ? method : `${method} ${target}`,
      { message, transport: origin?.context },
      {
        "mcp.method.name": method,
        "mcp.protocol.version": protocolVersion ?? origin?.protocolVersion,
        "mcp.session.id": session,
        "mcp.resource.uri": uri,
        "jsonrpc.request.id": id === undefined ? undefined : String(id),
        "gen_ai.tool.name": tool,
        "gen_ai.operation.name": tool === undefined ? undefined : "execute_tool",
        "gen_ai.prompt.name": prompt,
        // A pipe has no information about the origin of its messages.
        "network.transport": origin === undefined ? "pipe" : "tcp",
        ...origin?.attributes,
      },
    );
  }
}

/** Ends a tool call's span. An error inside a result is a `tool_error`; the error code is our own attribute. */
export function endToolSpan(span: Span, outcome: ToolOutcome): void {
  if (!outcome.ok) {
    span.fail("tool_error");
    span.set({ "holdfast.error.code": outcome.error.code });
  }
  span.end();
}
