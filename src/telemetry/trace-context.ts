import type { TraceContext } from "../kernel/span.ts";

/** A span of another system that is the parent of ours. */
export interface RemoteSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly sampled: boolean;
  readonly state?: string;
}

const stateCharactersMax = 512;

/**
 * Returns undefined for anything but a well-formed context; a trace that cannot be continued is replaced
 * by a new one. Accepts version 00, and later versions as far as they match 00.
 */
export function parseTraceContext({ traceparent, tracestate }: TraceContext = {}): RemoteSpan | undefined {
  if (typeof traceparent !== "string" || traceparent.length > 200) return undefined;
  const found = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(traceparent.trim());
  if (found === null) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", rest] = found;
  const isWrong = version === "ff" || (version === "00" && rest !== undefined) || /^0+$/.test(traceId) || /^0+$/.test(spanId);
  if (isWrong) return undefined;
  const state = typeof tracestate === "string" && tracestate !== "" && tracestate.length <= stateCharactersMax && /^[\x20-\x7e]+$/.test(tracestate) ? tracestate : undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1, state };
}
