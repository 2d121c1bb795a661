import type { ErrorCode } from "../../kernel/errors.ts";
import { errorCodes, HoldfastError } from "../../kernel/errors.ts";
import type { RefusalReason } from "./http-metrics.ts";

export interface RefusalExtras {
  /** Default: the status of the code. */
  readonly status?: number;
  /** The label in the metrics; default: derived from the code. */
  readonly reason?: RefusalReason;
  readonly hint?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request that the front rejects before any of it ran. */
export class Refusal extends HoldfastError {
  readonly status: number;
  readonly reason: RefusalReason;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, { status = errorCodes[code].http, reason = reasonOf(code), hint, details, headers = {} }: RefusalExtras = {}) {
    super(code, message, { hint, details });
    this.status = status;
    this.reason = reason;
    this.headers = headers;
  }
}

const reasons: Partial<Record<ErrorCode, RefusalReason>> = {
  unauthenticated: "credential",
  forbidden: "namespace",
  rate_limited: "rate",
  unavailable: "in_flight",
  limit_exceeded: "too_large",
};
const reasonOf = (code: ErrorCode): RefusalReason => reasons[code] ?? "malformed";

/** In seconds, as the header requires. An immediate retry would only be rejected again. */
export const retryAfter = (ms: number): Readonly<Record<string, string>> => ({ "retry-after": String(Math.max(1, Math.ceil(ms / 1_000))) });
