import type { SpanAttributes } from "../kernel/span.ts";
import type { RemoteSpan } from "./trace-context.ts";

/** A finished span. Times are milliseconds since 1970, with fractions. */
export interface SpanRecord {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly parentIsRemote: boolean;
  readonly state?: string;
  readonly name: string;
  readonly kind: "server" | "internal";
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: SpanAttributes;
  readonly failed: boolean;
  readonly link?: RemoteSpan;
}

export interface SpanSource {
  readonly serviceName: string;
  readonly version: string;
  readonly instance: string;
}

const valueCharactersMax = 1_024;
const kinds = { internal: 1, server: 2 } as const;
const errorStatus = 2;
const sampledFlag = 0x001;
const [knowsRemote, isRemote] = [0x100, 0x200];

/** The body of an OTLP/HTTP request in JSON: ids in hexadecimal, 64-bit numbers as strings. */
export function otlpBody(spans: readonly SpanRecord[], { serviceName, version, instance }: SpanSource): string {
  const resource = { attributes: attributeList({ "service.name": serviceName, "service.version": version, "service.instance.id": instance }) };
  return JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope: { name: "holdfast", version }, spans: spans.map(spanJson) }] }] });
}

const spanJson = ({ traceId, spanId, parentSpanId, parentIsRemote, state, name, kind, startMs, endMs, attributes, failed, link }: SpanRecord): object => ({
  traceId,
  spanId,
  parentSpanId,
  traceState: state,
  flags: sampledFlag | knowsRemote | (parentIsRemote ? isRemote : 0),
  name,
  kind: kinds[kind],
  startTimeUnixNano: nanoseconds(startMs),
  endTimeUnixNano: nanoseconds(Math.max(startMs, endMs)),
  attributes: attributeList(attributes),
  status: failed ? { code: errorStatus } : {},
  links: link && [{ traceId: link.traceId, spanId: link.spanId, traceState: link.state }],
});

/** A BigInt, because the result has more digits than a JavaScript number can hold. */
function nanoseconds(ms: number): string {
  const whole = Math.floor(ms);
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1_000_000)));
}

const attributeList = (attributes: SpanAttributes): readonly object[] =>
  Object.entries(attributes).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value: valueJson(value) }]));

function valueJson(value: string | number | boolean): object {
  if (typeof value === "string") return { stringValue: value.length > valueCharactersMax ? value.slice(0, valueCharactersMax) : value };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
