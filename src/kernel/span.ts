/** One operation in a trace, as seen by the code that performs it. Undefined when tracing is off. */
export interface Span {
  /** Starts a child operation. */
  child(name: string, attributes?: SpanAttributes): Span;
  set(attributes: SpanAttributes): void;
  /** Marks the operation as failed; `type` is an error's code or another word from a small set. */
  fail(type: string): void;
  end(): void;
  /** 32 hexadecimal digits, for log lines. */
  readonly traceId: string;
}

export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** The W3C Trace Context of a trace that began elsewhere, as sent by the caller and not yet checked. */
export interface TraceContext {
  readonly traceparent?: unknown;
  readonly tracestate?: unknown;
}

export interface Tracer {
  /**
   * Starts the span for a request. The context in the message is the parent; the transport's context is linked, or is the parent if
   * the message has none. Undefined: the request is not recorded, because of its context or the sampling.
   */
  server(name: string, contexts: { readonly message?: TraceContext; readonly transport?: TraceContext }, attributes: SpanAttributes): Span | undefined;
}
