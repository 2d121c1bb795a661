import type { IncomingHttpHeaders } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly startNano: bigint;
  readonly endNano: bigint;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  readonly status: number;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly resource: Readonly<Record<string, string | number | boolean>>;
}

/** A collector for OTLP over HTTP with JSON. Takes only what the protocol allows: anything else is a 400 and a `problem`. */
export interface OtlpReceiver extends AsyncDisposable {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  readonly requests: readonly { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  readonly problems: readonly string[];
  /** What it answers from now on; "nothing" keeps the connection open and says nothing. */
  answer: number | "nothing";
  /** Resolves with the first so many spans of those that the test accepts. */
  received(count: number, accepts?: (span: ReceivedSpan) => boolean): Promise<readonly ReceivedSpan[]>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const requests: { path: string; headers: IncomingHttpHeaders }[] = [];
  const problems: string[] = [];
  const sockets = new Set<Socket>();
  let onSpans: () => void = () => {};
  const receiver = { answer: 200 as number | "nothing" };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      requests.push({ path: request.url as string, headers: request.headers });
      if (receiver.answer === "nothing") return;
      if (receiver.answer !== 200) {
        response.writeHead(receiver.answer).end();
        return;
      }
      try {
        spans.push(...decode(JSON.parse(Buffer.concat(chunks).toString("utf8"))));
        response.writeHead(200, { "content-type": "application/json" }).end("{}");
      } catch (error) {
        problems.push(String(error));
        response.writeHead(400).end();
      }
      onSpans();
    });
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(receiver, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    requests,
    problems,
    async received(count: number, accepts: (span: ReceivedSpan) => boolean = () => true) {
      for (let found = spans.filter(accepts); ; found = spans.filter(accepts)) {
        if (found.length >= count) return found;
        await new Promise<void>((resolve) => {
          onSpans = resolve;
        });
      }
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

/** The members of the protocol's messages that a span of ours may have; another one is a mistake of ours. */
const known = {
  span: ["traceId", "spanId", "parentSpanId", "traceState", "flags", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes", "status", "links"],
  link: ["traceId", "spanId", "traceState", "attributes", "flags"],
};

// biome-ignore lint/suspicious/noExplicitAny: what came over the wire
type Wire = any;

function decode(body: Wire): ReceivedSpan[] {
  return body.resourceSpans.flatMap(({ resource, scopeSpans }: Wire) =>
    scopeSpans.flatMap(({ scope, spans }: Wire) => {
      if (typeof scope.name !== "string") throw new Error("a scope without a name");
      return spans.map((span: Wire) => decodeSpan(span, attributesIn(resource.attributes)));
    }),
  );
}

function decodeSpan(span: Wire, resource: ReceivedSpan["resource"]): ReceivedSpan {
  const stranger = Object.keys(span).find((member) => !known.span.includes(member));
  if (stranger !== undefined) throw new Error(`a span has no ${stranger}`);
  const [startNano, endNano] = [nano(span.startTimeUnixNano), nano(span.endTimeUnixNano)];
  if (endNano < startNano) throw new Error("a span ends before it begins");
  if (!Number.isInteger(span.kind) || span.kind < 1 || span.kind > 5) throw new Error(`kind ${span.kind}`);
  for (const link of span.links ?? []) {
    if (Object.keys(link).some((member) => !known.link.includes(member))) throw new Error("a link with other members");
    hex(link.traceId, 32);
    hex(link.spanId, 16);
  }
  return {
    traceId: hex(span.traceId, 32),
    spanId: hex(span.spanId, 16),
    parentSpanId: span.parentSpanId === undefined ? undefined : hex(span.parentSpanId, 16),
    traceState: span.traceState,
    name: span.name,
    kind: span.kind,
    startNano,
    endNano,
    attributes: attributesIn(span.attributes),
    status: span.status?.code ?? 0,
    links: span.links ?? [],
    resource,
  };
}

function hex(text: unknown, digits: number): string {
  if (typeof text !== "string" || text.length !== digits || !/^[0-9a-f]+$/.test(text) || /^0+$/.test(text)) throw new Error(`not an id of ${digits} digits: ${String(text)}`);
  return text;
}

function nano(text: unknown): bigint {
  if (typeof text !== "string" || !/^\d{19}$/.test(text)) throw new Error(`not a time in nanoseconds: ${String(text)}`);
  return BigInt(text);
}

function attributesIn(list: Wire): Readonly<Record<string, string | number | boolean>> {
  const attributes: Record<string, string | number | boolean> = {};
  for (const { key, value } of list) {
    const [kind, ...more] = Object.keys(value);
    if (more.length > 0 || Object.hasOwn(attributes, key)) throw new Error(`the attribute ${key} stands twice`);
    if (kind === "stringValue" && typeof value.stringValue === "string") attributes[key] = value.stringValue;
    else if (kind === "boolValue" && typeof value.boolValue === "boolean") attributes[key] = value.boolValue;
    else if (kind === "intValue" && typeof value.intValue === "string" && /^-?\d+$/.test(value.intValue)) attributes[key] = Number(value.intValue);
    else if (kind === "doubleValue" && typeof value.doubleValue === "number") attributes[key] = value.doubleValue;
    else throw new Error(`the attribute ${key} is a ${kind}`);
  }
  return attributes;
}
