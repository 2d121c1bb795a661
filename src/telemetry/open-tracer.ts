import { randomHex } from "../kernel/ids.ts";
import type { Log } from "../kernel/log.ts";
import type { Meter } from "../kernel/meter.ts";
import type { Span, SpanAttributes, Tracer } from "../kernel/span.ts";
import { OtlpExporter } from "./otlp-exporter.ts";
import type { SpanRecord } from "./span-record.ts";
import { otlpBody } from "./span-record.ts";
import type { RemoteSpan } from "./trace-context.ts";
import { parseTraceContext } from "./trace-context.ts";

export interface TracerOptions {
  readonly endpoint: string;
  /** In OpenTelemetry's format: `name=value,name=value`, percent-encoded. */
  readonly headers?: string;
  readonly serviceName: string;
  readonly version: string;
  /** The fraction recorded of the traces that begin here. */
  readonly sampleRatio: number;
  readonly log: Log;
  readonly meter?: Meter;
  readonly delayMs?: number;
  readonly timeoutMs?: number;
  readonly queueMax?: number;
}

export interface OpenTracer extends Tracer, AsyncDisposable {
  /** Spans that reached the collector, and those that did not. */
  readonly sent: number;
  readonly dropped: number;
}

/** The time limit for delivering the remaining spans when the process ends. */
const closeMsMax = 2_000;

/** A tracer that sends spans to a collector over OTLP. */
export function openTracer({ endpoint, headers, serviceName, version, sampleRatio, log, meter, ...pace }: TracerOptions): OpenTracer {
  const source = { serviceName, version, instance: randomHex(32) };
  const exporter = new OtlpExporter<SpanRecord>({ endpoint, headers: parseHeaders(headers), log, body: (spans) => otlpBody(spans, source), ...pace });
  meter?.total(
    "holdfast_spans_total",
    "Spans for the collector: sent, or dropped because the collector did not accept them.",
    () => [
      { labels: ["sent"], value: exporter.sent },
      { labels: ["dropped"], value: exporter.dropped },
    ],
    ["outcome"],
  );
  return {
    get sent() {
      return exporter.sent;
    },
    get dropped() {
      return exporter.dropped;
    },
    server(name, { message, transport }, attributes) {
      const [inMessage, inTransport] = [parseTraceContext(message), parseTraceContext(transport)];
      const parent = inMessage ?? inTransport;
      const isRecorded = parent === undefined ? Math.random() < sampleRatio : parent.sampled;
      if (!isRecorded) return undefined;
      return new RecordedSpan(exporter, { name, kind: "server", parent, parentIsRemote: true, link: inMessage === undefined ? undefined : inTransport }, attributes);
    },
    [Symbol.asyncDispose]: () => exporter.close(closeMsMax),
  };
}

interface SpanOrigin {
  readonly name: string;
  readonly kind: SpanRecord["kind"];
  readonly parent?: Pick<RemoteSpan, "traceId" | "spanId" | "state">;
  readonly parentIsRemote: boolean;
  readonly link?: RemoteSpan;
}

const nowMs = (): number => performance.timeOrigin + performance.now();

class RecordedSpan implements Span {
  readonly #exporter: OtlpExporter<SpanRecord>;
  readonly #origin: SpanOrigin;
  readonly #attributes: Record<string, string | number | boolean | undefined>;
  readonly #startMs = nowMs();
  readonly #spanId = randomHex(16);
  readonly traceId: string;
  #failed = false;
  #ended = false;

  constructor(exporter: OtlpExporter<SpanRecord>, origin: SpanOrigin, attributes: SpanAttributes) {
    this.#exporter = exporter;
    this.#origin = origin;
    this.#attributes = { ...attributes };
    this.traceId = origin.parent?.traceId ?? randomHex(32);
  }

  child(name: string, attributes: SpanAttributes = {}): Span {
    const parent = { traceId: this.traceId, spanId: this.#spanId, state: this.#origin.parent?.state };
    return new RecordedSpan(this.#exporter, { name, kind: "internal", parent, parentIsRemote: false }, attributes);
  }

  set(attributes: SpanAttributes): void {
    Object.assign(this.#attributes, attributes);
  }

  fail(type: string): void {
    this.#failed = true;
    this.#attributes["error.type"] = type;
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    const { name, kind, parent, parentIsRemote, link } = this.#origin;
    this.#exporter.add({
      traceId: this.traceId,
      spanId: this.#spanId,
      parentSpanId: parent?.spanId,
      parentIsRemote: parent !== undefined && parentIsRemote,
      state: parent?.state,
      name,
      kind,
      startMs: this.#startMs,
      endMs: nowMs(),
      attributes: this.#attributes,
      failed: this.#failed,
      link,
    });
  }
}

/** A value that cannot be decoded is used unchanged; one that is not allowed in a header is dropped. */
function parseHeaders(list = ""): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const pair of list.split(",")) {
    const at = pair.indexOf("=");
    const value = decoded(pair.slice(at + 1).trim());
    if (at > 0 && /^[\x20-\x7e]*$/.test(value)) headers[pair.slice(0, at).trim().toLowerCase()] = value;
  }
  return headers;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
