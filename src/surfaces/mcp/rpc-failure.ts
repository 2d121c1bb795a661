import { isHoldfastError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import { rpcErrors } from "./json-rpc.ts";

interface RpcFailure {
  readonly code: number;
  readonly message: string;
  readonly data: { readonly code: string };
}

/** An error with our code and message. A defect is logged, and its response reveals no internals. */
export function rpcFailureOf(error: unknown, log: Log): RpcFailure {
  if (isHoldfastError(error)) {
    const callersFault = error.code === "invalid_input" || error.code === "limit_exceeded";
    return { code: callersFault ? rpcErrors.invalidParams : rpcErrors.internal, message: error.message, data: { code: error.code } };
  }
  log("error", "request_failed", { problem: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  return { code: rpcErrors.internal, message: "Internal error in Holdfast; the server's log has the details.", data: { code: "internal" } };
}
