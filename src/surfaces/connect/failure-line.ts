import type { IncomingMessage } from "node:http";
import type { ErrorCode } from "../../kernel/errors.ts";
import { TooLong } from "../../kernel/server-events.ts";
import type { RequestId } from "../mcp/json-rpc.ts";
import { errorLine, isPlainObject } from "../mcp/json-rpc.ts";
import { WrongAnswer } from "./messages-in.ts";
import { ConnectionFailure } from "./remote.ts";

/** A failure of the transport, for which the protocol defines no error code. */
const exchangeFailed = -32_000;

interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string;
}

const failureLine = (id: RequestId, { code, message, hint }: Failure): string => errorLine(id, exchangeFailed, message, { code, ...(hint === undefined ? {} : { hint }) });

/** The error for a request without an answer. `mayHaveHappened` means that the request changes something and may have arrived. */
export function unansweredLine(id: RequestId, failure: unknown, server: string, mayHaveHappened: boolean): string {
  if (failure instanceof TooLong) return failureLine(id, { code: "limit_exceeded", message: "The server's answer is too long to forward." });
  if (failure instanceof WrongAnswer) return lostLine(id, `${server} ${failure.message}`, mayHaveHappened, { code: "unavailable", hint: serverHint });
  const { reason, isFinal, kind } = failure instanceof ConnectionFailure ? failure : new ConnectionFailure("cut", failure);
  if (kind === "cut" && mayHaveHappened) return lostLine(id, `The connection to ${server} broke before the answer (${reason})`, true);
  if (isFinal) return failureLine(id, { code: "unavailable", message: `${server} does not respond as a Holdfast server would (${reason}).`, hint: hintOf(reason) });
  return failureLine(id, {
    code: "unavailable",
    message: `${server} cannot be reached (${reason}).`,
    hint: "Check the address and that the server is running: holdfast serve.",
  });
}

/** The error for a request still unanswered when the time after the client closed its side is up. */
export const closedLine = (id: RequestId, server: string, mayHaveHappened: boolean): string =>
  lostLine(id, `Standard input ended before ${server} answered`, mayHaveHappened, { code: "cancelled" });

/** Reports `outcome_unknown` if the request may have taken effect; `otherwise` is the failure to report if nothing happened. */
function lostLine(id: RequestId, what: string, mayHaveHappened: boolean, otherwise: Omit<Failure, "message"> = { code: "unavailable" }): string {
  if (!mayHaveHappened) return failureLine(id, { ...otherwise, message: `${what}.` });
  return failureLine(id, {
    code: "outcome_unknown",
    message: `${what}: the call may or may not have taken effect.`,
    hint: "Repeat the call with the same request_key, or read the current state.",
  });
}

const serverHint = "Check that the address is that of a Holdfast server, with the right scheme (http:// or https://).";
const hintOf = (reason: string): string =>
  /CERT|SELF_SIGNED|VERIFY/.test(reason)
    ? "This machine does not trust its certificate. Set NODE_EXTRA_CA_CERTS to a file with your certificate authority's certificate."
    : serverHint;

/** The error for a refused request: the server's own error if it sent one for MCP clients. */
export function refusalLine(id: RequestId, { statusCode = 0 }: Pick<IncomingMessage, "statusCode">, body: string, server: string): string {
  // For 401 the bridge gives its own hint, because the server's explains headers, which users of the bridge do not write.
  const told = statusCode === 401 ? undefined : errorIn(body);
  if (told !== undefined) return JSON.stringify({ jsonrpc: "2.0", id, error: told });
  return failureLine(id, refusals[statusCode]?.(server) ?? { code: "unavailable", message: `${server} answered with status ${statusCode} and without an MCP message.` });
}

const elsewhere = (server: string): Failure => ({
  code: "not_found",
  message: `${server} redirects to another address.`,
  hint: "Pass the address that it redirects to; the token is not sent there automatically.",
});
const refusals: Readonly<Record<number, (server: string) => Failure>> = {
  301: elsewhere,
  302: elsewhere,
  303: elsewhere,
  307: elsewhere,
  308: elsewhere,
  401: (server) => ({
    code: "unauthenticated",
    message: `${server} requires a valid token.`,
    hint: "Set HOLDFAST_TOKEN to a token of that server, or pass a file that contains one with --token-file. To create a token, run holdfast token create on the server.",
  }),
  403: (server) => ({ code: "forbidden", message: `${server} does not allow this caller.` }),
  404: (server) => ({ code: "not_found", message: `No MCP server answers at ${server}.`, hint: "Holdfast serves it at /mcp, and at /ns/NAME/mcp for a namespace." }),
  405: (server) => ({ code: "not_found", message: `No MCP server answers at ${server}.`, hint: "Holdfast serves it at /mcp, and at /ns/NAME/mcp for a namespace." }),
};

/** The error of a JSON-RPC answer. The id may be missing, because a server may refuse a request before it reads the body. */
function errorIn(body: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const { error, jsonrpc } = JSON.parse(body) as Record<string, unknown>;
    return jsonrpc === "2.0" && isPlainObject(error) && typeof error.code === "number" && typeof error.message === "string" ? error : undefined;
  } catch {
    return undefined;
  }
}
