/**
 * Every error a caller can get, in one closed table. Surfaces derive their form from it:
 * MCP puts the code into `structuredContent.error`, the CLI exits with `exit`, HTTP responds with `http`.
 * `retry`: "never" = the same call will fail again; "backoff" = the same call may succeed later.
 */
export const errorCodes = {
  invalid_input: { retry: "never", http: 400, exit: 2, meaning: "An argument is missing, unknown, of the wrong kind or outside its limits." },
  not_found: { retry: "never", http: 404, exit: 3, meaning: "The named thing does not exist and the call requires it." },
  ambiguous: { retry: "never", http: 409, exit: 3, meaning: "The given part of an id matches several things; details list them." },
  conflict: { retry: "backoff", http: 409, exit: 4, meaning: "Other writers kept winning; nothing was changed." },
  lease_lost: { retry: "never", http: 409, exit: 4, meaning: "The lease named by the call is not live or its token is not the current one; nothing was changed." },
  claim_lost: { retry: "never", http: 409, exit: 4, meaning: "Another worker took over the run; nothing was changed. Stop working on it." },
  claim_held: { retry: "never", http: 409, exit: 4, meaning: "The run is claimed by another agent; nothing was changed." },
  workflow_finished: { retry: "never", http: 409, exit: 4, meaning: "The run has ended and accepts no more claims or steps." },
  request_key_reused: { retry: "never", http: 409, exit: 4, meaning: "This request key was used before with other arguments; nothing was changed." },
  compacted: { retry: "never", http: 410, exit: 5, meaning: "The requested revision or time is older than the stored history." },
  limit_exceeded: { retry: "never", http: 413, exit: 2, meaning: "A limit would be exceeded; nothing was changed." },
  read_only: { retry: "never", http: 403, exit: 2, meaning: "This server was started read-only or without that tool." },
  unauthenticated: { retry: "never", http: 401, exit: 2, meaning: "The server requires a credential, or the given one is wrong, expired or revoked." },
  forbidden: { retry: "never", http: 403, exit: 2, meaning: "The credential does not allow this, or the request's origin is not allowed." },
  rate_limited: { retry: "backoff", http: 429, exit: 6, meaning: "Too many requests or open streams from one caller; nothing was changed. Slow down." },
  unavailable: { retry: "backoff", http: 503, exit: 6, meaning: "The store cannot be reached or is too busy; nothing was changed." },
  outcome_unknown: {
    retry: "never",
    http: 503,
    exit: 6,
    meaning: "The answer was lost: the write may or may not have happened. Retry with the same request key, or read the current state.",
  },
  moved: { retry: "never", http: 410, exit: 6, meaning: "The namespace was moved to another store; nothing was changed." },
  storage_full: { retry: "backoff", http: 507, exit: 6, meaning: "The disk or quota is full; nothing was changed." },
  store_unsupported: { retry: "never", http: 500, exit: 7, meaning: "The store cannot be opened safely here; the message says what to change." },
  store_damaged: { retry: "never", http: 500, exit: 7, meaning: "The store is damaged or not a Holdfast store; the message says what to do." },
  store_newer: { retry: "never", http: 500, exit: 7, meaning: "The store was written by a newer Holdfast; upgrade this one." },
  cancelled: { retry: "never", http: 499, exit: 130, meaning: "The caller cancelled the call." },
  internal: { retry: "never", http: 500, exit: 70, meaning: "A defect in Holdfast; the log has the details." },
} as const;

export type ErrorCode = keyof typeof errorCodes;

export interface ErrorExtras {
  /** One sentence that says what to do next. */
  readonly hint?: string;
  /** Machine-readable details in plain JSON, without secrets or paths. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** The message for callers on the store's machine; it may name files and addresses. Other callers get `message`, which names none. */
  readonly localMessage?: string;
  readonly cause?: unknown;
}

export class HoldfastError extends Error {
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly localMessage: string | undefined;

  constructor(code: ErrorCode, message: string, extras: ErrorExtras = {}) {
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.name = "HoldfastError";
    this.code = code;
    this.hint = extras.hint;
    this.details = extras.details;
    this.localMessage = extras.localMessage;
  }
}

export const isHoldfastError = (error: unknown, code?: ErrorCode): error is HoldfastError => error instanceof HoldfastError && (code === undefined || error.code === code);

/** Shorthand for the most common error: names the field and what is allowed. */
export const invalidInput = (field: string, allowed: string, details: Record<string, unknown> = {}): HoldfastError =>
  new HoldfastError("invalid_input", `${field}: ${allowed}`, { details: { field, ...details } });
