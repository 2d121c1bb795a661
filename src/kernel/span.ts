/** One piece of work in a trace, as the code that does the work sees it: it names the parts and says how they ended. Undefined when tracing is off. */
export interface Span {
  /** A part of this work. */
  child(name: string, attributes?: SpanAttributes): Span;
  set(attributes: SpanAttributes): void;
  /** It came to nothing; `type` is an error's code or another word of few. */
  fail(type: string): void;
  end(): void;
  /** 32 hexadecimal digits, for log lines. */
  readonly traceId: string;
}

export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** Where a trace that began elsewhere goes on, as W3C Trace Context writes it; what a caller sent, not checked yet. */
export interface TraceContext {
  readonly traceparent?: unknown;
  readonly tracestate?: unknown;
}

export interface Tracer {
  /**
   * The work for one request. The context in the message is what it is part of; that of the transport is linked, or takes its place where the message has none.
   * Undefined: it is not to be recorded, as its context or the sampling says.
   */
  server(name: string, contexts: { readonly message?: TraceContext; readonly transport?: TraceContext }, attributes: SpanAttributes): Span | undefined;
}
