import { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server";
import { shortened } from "../../tools/input-problems.ts";
import { isPlainObject } from "./json-rpc.ts";

/** Of one refusal: enough to understand a problem. */
const messageCharactersMax = 1_000;
const problemsMax = 5;

type Wrap = Server["_wrapHandler"];

/**
 * The SDK's server, whose refusals stay short. By itself it tells every problem of a wrong request in as many lines as it has members, as if it were a defect
 * of the server: a small message would be answered by a hundred times as much.
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

/** Our own handlers throw protocol errors alone; a plain one with a list of problems is the SDK's opinion of the request. */
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
  return [...told, ...(issues.length > problemsMax ? [`and ${issues.length - problemsMax} problems more`] : [])].join("\n");
}

const isIssue = (value: unknown): value is { readonly path: readonly unknown[]; readonly message: string } =>
  isPlainObject(value) && Array.isArray(value.path) && typeof value.message === "string";
