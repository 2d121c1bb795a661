import { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server";
import { shortened } from "../../tools/input-problems.ts";
import { isPlainObject } from "./json-rpc.ts";

/** Limits for one error message: enough to understand the problem. */
const messageCharactersMax = 1_000;
const problemsMax = 5;

type Wrap = Server["_wrapHandler"];

/**
 * The SDK's server with short error messages. By itself, it reports every problem of an invalid request on several lines, as if the server were
 * at fault: a small message could cause a response a hundred times its size.
 */
export class TerseServer extends Server {
  protected override _wrapHandler(method: Parameters<Wrap>[0], handler: Parameters<Wrap>[1]): ReturnType<Wrap> {
    const wrapped = super._wrapHandler(method, handler);
    return async (request, context) => {
      try {
        return await wrapped(request, context);
      } catch (error) {
        throw terse(error);
      }
    };
  }
}

/** Our own handlers throw only protocol errors; a plain error with a list of problems is the SDK's validation of the request. */
function terse(error: unknown): unknown {
  if (error instanceof ProtocolError)
    return error.message.length > messageCharactersMax ? new ProtocolError(error.code, `${error.message.slice(0, messageCharactersMax)}…`, error.data) : error;
  const problems = error instanceof Error ? problemsIn(error.message) : undefined;
  return problems === undefined ? error : new ProtocolError(ProtocolErrorCode.InvalidParams, problems.slice(0, messageCharactersMax));
}

function problemsIn(text: string): string | undefined {
  if (!text.startsWith("[")) return undefined;
  let issues: unknown;
  try {
    issues = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(issues) || !issues.every(isIssue)) return undefined;
  const told = issues.slice(0, problemsMax).map(({ path, message }) => `${path.map((step) => shortened(String(step))).join(".")}: ${message.slice(0, 200)}`);
  return [...told, ...(issues.length > problemsMax ? [`and ${issues.length - problemsMax} more`] : [])].join("\n");
}

const isIssue = (value: unknown): value is { readonly path: readonly unknown[]; readonly message: string } =>
  isPlainObject(value) && Array.isArray(value.path) && typeof value.message === "string";
