import { answerLimits } from "../mcp/http/open-answer-gates.ts";

/**
 * Every limit of the HTTP front; docs/serving.md shows them as a table. The store's limits and the protocol's own limits apply to stored data.
 * Tests pass smaller values.
 */
export const httpLimits = {
  /** Request line and headers together: 431. */
  headerBytesMax: 16_384,
  /** Path and query: 414. */
  targetBytesMax: 8_192,
  headersMax: 100,
  /** From the first byte, or from the connection, to the end of the headers: 408. */
  headersMsMax: 10_000,
  /** From the first byte to the end of the body: 408. */
  requestMsMax: 30_000,
  /** One body: 413. The same as the limit of one protocol message. */
  bodyBytesMax: 8_388_608,
  /** Bodies held in memory at one time, for all callers and for one principal; further bodies are not received yet. Each takes about four times its size until the response is sent. */
  bodiesBytesMax: 33_554_432,
  bodiesPerPrincipalBytesMax: 12_582_912,
  /** In addition, for principals that hold nothing. */
  bodiesReserveBytesMax: 8_388_608,
  /** Requests of one principal whose bodies wait to be received: 503. */
  bodiesWaitingPerPrincipalMax: 512,
  /** A connection without requests is closed after this time. */
  idleMsMax: 65_000,
  /** Open connections. One more replaces the connection idle for longest, or gets 503 if none is idle. */
  socketsMax: 4_096,
  /** Requests that one connection may send before the first response; one more closes it. */
  pipelinedMax: 16,
  /** Requests in progress, for all callers: 503. */
  inFlightMax: 2_048,
  /** Requests in progress, for one principal: 429. */
  inFlightPerPrincipalMax: 512,
  /** Waiting calls, for all callers, for one principal and for one namespace. Above the limit, the largest holder's oldest wait returns early. They do not count as requests in progress. */
  waitsMax: 2_048,
  waitsPerPrincipalMax: 512,
  waitsPerNamespaceMax: 1_024,
  /** Bytes of responses being built, for all callers and for one principal; further reads wait. */
  answersBytesMax: answerLimits.bytesMax,
  answersPerPrincipalBytesMax: answerLimits.principalBytesMax,
  /** In addition, for principals that hold nothing. */
  answersReserveBytesMax: answerLimits.reserveBytesMax,
  /** Calls of one principal that wait for memory for their responses: `unavailable`. */
  answersWaitingPerPrincipalMax: answerLimits.principalWaitingMax,
  /** Streams that stay open, for all callers. Above the limit, the largest holder's oldest one is ended. They do not count as requests in progress. */
  streamsMax: 2_048,
  /** Open streams of one principal: 429. */
  streamsPerPrincipalMax: 256,
  /** Principals whose rate is tracked; the one that was quiet longest is dropped first. */
  principalsMax: 10_000,
  /** A caller that receives nothing of its response for this long is disconnected. */
  unreadMsMax: 30_000,
  /** Unsent response bytes held for one connection, and for all of them; above the limit the fullest ones are closed. */
  unsentBytesMax: 33_554_432,
  unsentTotalBytesMax: 134_217_728,
  /** A quiet event stream sends a comment this often, so that proxies keep it open and a dead peer is noticed. */
  heartbeatMs: 15_000,
  /** How long calls may run after the server begins to stop. */
  stopGraceMs: 10_000,
  /** Namespaces whose store is kept open. */
  namespacesMax: 256,
} as const;

export type HttpLimits = { readonly [Name in keyof typeof httpLimits]: number };
