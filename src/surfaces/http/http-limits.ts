import { answerLimits } from "../mcp/http/open-answer-gates.ts";

/**
 * Every limit of the HTTP front, in one place; docs/serving.md shows them as a table. What callers may store is limited below, in the store's limits and the
 * protocol's own. Tests give smaller ones.
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
  /** One body: 413. As much as one protocol message may have. */
  bodyBytesMax: 8_388_608,
  /** Bodies that are held in memory at one time, of all callers and of one principal: further ones are not received yet. Each takes about four times its size until it is answered. */
  bodiesBytesMax: 33_554_432,
  bodiesPerPrincipalBytesMax: 12_582_912,
  /** On top of it, for principals that hold nothing. */
  bodiesReserveBytesMax: 8_388_608,
  /** Requests of one principal whose bodies wait to be received: 503. */
  bodiesWaitingPerPrincipalMax: 512,
  /** A connection on which nothing was asked for so long is closed. */
  idleMsMax: 65_000,
  /** Open connections; one more takes the place of the longest idle one, or is answered 503 where none is idle. */
  socketsMax: 4_096,
  /** Requests that one connection may have sent before the first of them is answered; one more ends it. */
  pipelinedMax: 16,
  /** Requests being answered, of all callers: 503. */
  inFlightMax: 2_048,
  /** Of one principal: 429. */
  inFlightPerPrincipalMax: 512,
  /** Calls that wait for something, of all callers, of one principal and of one namespace. Over it, the largest holder's oldest wait returns early. They are counted beside the requests in flight. */
  waitsMax: 2_048,
  waitsPerPrincipalMax: 512,
  waitsPerNamespaceMax: 1_024,
  /** Bytes of answers being built, of all callers and of one principal: further reads wait. */
  answersBytesMax: answerLimits.bytesMax,
  answersPerPrincipalBytesMax: answerLimits.principalBytesMax,
  /** On top of it, for principals that hold nothing. */
  answersReserveBytesMax: answerLimits.reserveBytesMax,
  /** Calls of one principal that wait for room for their answers: `unavailable`. */
  answersWaitingPerPrincipalMax: answerLimits.principalWaitingMax,
  /** Streams that stay open, of all callers. Over it, the largest holder's oldest one is ended. They are counted beside the requests in flight. */
  streamsMax: 2_048,
  /** Of one principal: 429. */
  streamsPerPrincipalMax: 256,
  /** Principals whose rate is remembered; the one that was quiet longest is forgotten first. */
  principalsMax: 10_000,
  /** A caller that takes nothing of its answer for so long is cut off. */
  unreadMsMax: 30_000,
  /** Unsent answers held for one connection, and for all of them; over it the fullest ones are cut off. */
  unsentBytesMax: 33_554_432,
  unsentTotalBytesMax: 134_217_728,
  /** A quiet event stream sends a comment so often: proxies keep it open, and a dead peer is noticed. */
  heartbeatMs: 15_000,
  /** How long calls may run after the server was asked to stop. */
  stopGraceMs: 10_000,
  /** Namespaces whose store is kept ready. */
  namespacesMax: 256,
} as const;

export type HttpLimits = { readonly [Name in keyof typeof httpLimits]: number };
