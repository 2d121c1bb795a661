import type { Span, SpanAttributes, TraceContext, Tracer } from "../../kernel/span.ts";
import type { ToolCall, ToolOutcome } from "../../tools/run-tool.ts";
import type { RequestId } from "./json-rpc.ts";
import { isPlainObject } from "./json-rpc.ts";

/** Where a request came from, as far as the transport can tell. */
export interface CallOrigin {
  readonly protocolVersion?: string;
  /** Of the transport's own headers. */
  readonly context?: TraceContext;
  readonly attributes?: SpanAttributes;
}

/** A call with what its transport knows of it. */
export interface TransportCall extends ToolCall {
  readonly origin?: CallOrigin;
  /** The call begins to wait; `end` makes it stop waiting. The returned function is called when the wait is over. */
  onWait?(end: () => void): () => void;
}

/** One request, as a span reports it. */
export interface TracedRequest {
  readonly method: string;
  readonly id?: RequestId;
  /** The `_meta` of its parameters, as it came. */
  readonly meta?: unknown;
  readonly tool?: string;
  readonly prompt?: string;
  readonly uri?: string;
  readonly protocolVersion?: string;
  /** The session's label; never what opens it. */
  readonly session?: string;
  readonly origin?: CallOrigin;
}

/**
 * Server spans of MCP requests, with the names of OpenTelemetry's conventions for MCP. They contain the method and its outcome; arguments, results and
 * the words of errors are not, since they are the caller's.
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
        // A pipe knows nothing of where its messages come from.
        "network.transport": origin === undefined ? "pipe" : "tcp",
        ...origin?.attributes,
      },
    );
  }
}

/** How a tool call's span ends. An error inside a result is a `tool_error`; the error code is an attribute of ours. */
export function endToolSpan(span: Span, outcome: ToolOutcome): void {
  if (!outcome.ok) {
    span.fail("tool_error");
    span.set({ "holdfast.error.code": outcome.error.code });
  }
  span.end();
}
