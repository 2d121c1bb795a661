/** One piece of work in a trace, as those who do the work see it: they name its parts and say how it ended. Where nobody traces there is none. */
export interface Span {
  /** A part of this work. */
  child(name: string, attributes?: SpanAttributes): Span;
  set(attributes: SpanAttributes): void;
  /** It came to nothing; `type` is an error's code or another word of few. */
  fail(type: string): void;
  end(): void;
  /** Both as 32 and 16 hexadecimal digits, for log lines. */
  readonly traceId: string;
  readonly spanId: string;
}

export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** Where a trace that began elsewhere goes on, as W3C Trace Context writes it. */
export interface TraceContext {
  readonly traceparent?: string;
  readonly tracestate?: string;
}

export interface Tracer {
  /** Undefined: this one is not to be traced (the caller's context says so, or the sampler). */
  server(name: string, context: TraceContext, attributes: SpanAttributes): Span | undefined;
}
