import type { Clock } from "../../kernel/clock.ts";
import type { ErrorCode } from "../../kernel/errors.ts";
import { errorCodes, HoldfastError, invalidInput, isHoldfastError } from "../../kernel/errors.ts";
import { linkedAbort } from "../../kernel/linked-abort.ts";
import { RetryDelay } from "../../kernel/retry-delay.ts";
import { limits } from "../../store/limits.ts";
import type { LibraryMethodName } from "../library/library-methods.ts";
import { libraryMethods } from "../library/library-methods.ts";
import type { ConnectOptions } from "./connect-holdfast.ts";
import { openRequest, readAnswerText } from "./open-request.ts";
import { requireJsonValues } from "./require-json-values.ts";

export interface RemoteCallOptions {
  /** Cancels the call. A write that was already sent is not undone. */
  readonly signal?: AbortSignal;
  /** Added to the timeout and the retry time, because the server itself waits this long. */
  readonly waitMs?: number;
}

const defaults = { retryForMs: 30_000, timeoutMs: 30_000 } as const;
/** Far larger than any answer of a Holdfast server. */
const answerBytesMax = 67_108_864;

/** The outcome of one attempt: an answer, or a failure that shows whether to retry and whether this attempt may have taken effect. */
type Attempt =
  | { readonly is: "answered"; readonly json: unknown }
  | { readonly is: "refused"; readonly error: HoldfastError; readonly atLeastMs: number; readonly isBlind: boolean }
  | { readonly is: "lost"; readonly problem: string; readonly wasSent: boolean };

/** A request key is sent again only this long after the first attempt: an hour before the server forgets it and would take a repeat for a new call. */
const keyTrustedMs = limits.requestKeptMs - 3_600_000;

/** Errors that the server returns before it looks up the request key: they do not show whether an earlier attempt took effect. */
const blindCodes: ReadonlySet<ErrorCode> = new Set(["unauthenticated", "forbidden", "rate_limited", "unavailable", "storage_full", "moved", "read_only", "internal", "cancelled"]);
const retried: ReadonlySet<ErrorCode> = new Set(["rate_limited", "unavailable", "outcome_unknown"]);

/** Calls one server and retries each call until it is answered or its time is up. */
export class RemoteCalls {
  readonly #url: URL;
  readonly #options: ConnectOptions & { readonly clock: Pick<Clock, "nowMs" | "sleep"> };
  readonly #closed = new AbortController();
  /** Set after the server has answered `hello`. */
  namespace = "";

  constructor(url: URL, options: ConnectOptions & { readonly clock: Pick<Clock, "nowMs" | "sleep"> }) {
    this.#url = url;
    this.#options = options;
  }

  /** Aborts when the client is closed. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  close(): void {
    this.#closed.abort();
  }

  async hello(namespace: string | undefined): Promise<unknown> {
    const path = namespace === undefined ? "api/library" : `api/ns/${encodeURIComponent(namespace)}/library`;
    try {
      return await this.#untilAnswered({ what: "connectHoldfast", path, changes: false }, {});
    } catch (error) {
      throw isHoldfastError(error, "not_found") ? noLibrary(404) : error;
    }
  }

  async call(name: LibraryMethodName, given: Readonly<Record<string, unknown>>, options: RemoteCallOptions): Promise<unknown> {
    requireJsonValues(given);
    const changes = libraryMethods[name].needs === "write";
    const answer = await this.#untilAnswered({ what: name, path: this.pathOf(name), body: JSON.stringify(given), changes, requestKey: given.requestKey }, options);
    return (answer as { readonly result?: unknown }).result;
  }

  pathOf(name: LibraryMethodName): string {
    return `api/ns/${encodeURIComponent(this.namespace)}/library/${name}`;
  }

  /** Sends one request. Resolves before the body of the answer is read. */
  open(path: string, body: string | undefined, signal: AbortSignal): Promise<Response> {
    const { token, fetch } = this.#options;
    return openRequest(new URL(path, this.#url), { token, fetch, body, signal });
  }

  async #untilAnswered(request: Sent, { signal, waitMs = 0 }: RemoteCallOptions): Promise<unknown> {
    const link = linkedAbort(signal, this.closed);
    try {
      return await this.#tryUntilAnswered(request, link.signal, waitMs);
    } finally {
      link.unlink();
    }
  }

  async #tryUntilAnswered(request: Sent, ends: AbortSignal, waitMs: number): Promise<unknown> {
    const { clock, retryForMs = defaults.retryForMs } = this.#options;
    const delay = new RetryDelay({ clock, forMs: retryForMs + waitMs, signal: ends, endsAtMs: () => Number.POSITIVE_INFINITY });
    const begunMs = clock.nowMs();
    let inDoubt = false;
    for (;;) {
      // Judged before each attempt, because a machine may sleep for a day between two of them.
      if (inDoubt && clock.nowMs() - begunMs > keyTrustedMs) throw unknownOutcome(request, "the server may have forgotten the request key by now");
      if (ends.aborted) throw inDoubt ? unknownOutcome(request, "the call was cancelled") : cancelled(request);
      const attempt = await this.#attempt(request, ends, waitMs);
      if (attempt.is === "answered") return attempt.json;
      const isUnknown = attempt.is === "lost" ? attempt.wasSent : attempt.error.code === "outcome_unknown";
      const mayHelp = attempt.is === "lost" || retried.has(attempt.error.code);
      const wasInDoubt = inDoubt;
      inDoubt ||= request.changes && isUnknown;
      if (mayHelp && (await delay.wait(attempt.is === "refused" ? attempt.atLeastMs : 0))) continue;
      if (attempt.is === "refused" && !(wasInDoubt && attempt.isBlind)) throw attempt.error;
      const problem = attempt.is === "refused" ? `${attempt.error.code}: ${attempt.error.message}` : attempt.problem;
      if (inDoubt) throw unknownOutcome(request, problem);
      throw ends.aborted
        ? cancelled(request)
        : new HoldfastError("unavailable", `${request.what}: the server cannot be reached (${problem}); nothing was changed.`, {
            hint: "Check the address, and whether the server runs.",
          });
    }
  }

  async #attempt({ path, body }: Sent, ends: AbortSignal, waitMs: number): Promise<Attempt> {
    const { timeoutMs = defaults.timeoutMs } = this.#options;
    const over = linkedAbort(ends);
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      over.abort();
    }, timeoutMs + waitMs);
    try {
      const response = await this.open(path, body, over.signal);
      return toAttempt(response, await readAnswerText(response, answerBytesMax));
    } catch (error) {
      // Not the server's words: something before it answered, or nothing was sent.
      if (error instanceof HoldfastError) return { is: "refused", error, atLeastMs: 0, isBlind: true };
      return { is: "lost", problem: isLate ? `no answer within ${timeoutMs + waitMs} ms` : problemOf(error), wasSent: !isRefusedConnection(error) };
    } finally {
      clearTimeout(timer);
      over.unlink();
    }
  }
}

interface Sent {
  /** The method's name, for messages. */
  readonly what: string;
  readonly path: string;
  readonly body?: string;
  readonly changes: boolean;
  readonly requestKey?: unknown;
}

function toAttempt(response: Response, text: string): Attempt {
  const json = parsed(text);
  if (response.ok && json !== undefined) return { is: "answered", json };
  const error = errorIn(json);
  if (error !== undefined) return { is: "refused", error, atLeastMs: retryAfterMs(response), isBlind: blindCodes.has(error.code) || error.details?.reason === "route" };
  // The answer is not from Holdfast but from a proxy in front of it or from another server.
  if (response.ok || response.status >= 500 || response.status === 408 || response.status === 429)
    return { is: "lost", problem: `HTTP ${response.status} without an answer of Holdfast's`, wasSent: true };
  throw noLibrary(response.status);
}

const noLibrary = (status: number): HoldfastError => invalidInput("url", `no Holdfast server with the library's routes answers at this address (HTTP ${status})`);

/** The error in an answer, as the server threw it. */
export function errorIn(json: unknown): HoldfastError | undefined {
  const { error } = (json ?? {}) as {
    readonly error?: { readonly code?: unknown; readonly message?: unknown; readonly hint?: string; readonly details?: Record<string, unknown> };
  };
  if (typeof error?.code !== "string" || !Object.hasOwn(errorCodes, error.code) || typeof error.message !== "string") return undefined;
  return new HoldfastError(error.code as ErrorCode, error.message, { hint: error.hint, details: error.details });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const retryAfterMs = (response: Response): number => {
  const seconds = Number(response.headers.get("retry-after"));
  return Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, 60) * 1_000 : 0;
};

const causeCode = (error: unknown): string | undefined => (error as { readonly cause?: { readonly code?: string } } | undefined)?.cause?.code;

/** No server listens there, so the request was not sent. Only Node and Bun report it; elsewhere it counts as sent. */
const isRefusedConnection = (error: unknown): boolean => ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"].includes(causeCode(error) ?? "");

const problemOf = (error: unknown): string => causeCode(error) ?? (error instanceof Error ? error.message : String(error));

const unknownOutcome = ({ what, requestKey }: Sent, problem: string): HoldfastError =>
  new HoldfastError("outcome_unknown", `${what}: the answer was lost (${problem}); the change may or may not have happened.`, {
    ...(what === "effects.begin"
      ? { hint: "Begin it again with the same arguments: its record shows what happened." }
      : { hint: "Call again with the same arguments and this requestKey: within 24 hours of the first attempt, it cannot take effect twice.", details: { requestKey } }),
  });

const cancelled = ({ what }: Sent): HoldfastError => new HoldfastError("cancelled", `${what}: the call was cancelled; nothing was changed.`);
