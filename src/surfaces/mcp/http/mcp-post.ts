import type { IncomingMessage, ServerResponse } from "node:http";
import type { AnswerGate } from "../../../store/answer-gates.ts";
import type { Accepted } from "./answer-http.ts";
import type { McpContext } from "./mcp-contexts.ts";
import type { McpAccess } from "./mcp-http.ts";

/** One POST in progress: its caller, and how to respond to it. */
export interface McpPost {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly access: McpAccess;
  readonly context: McpContext;
  readonly accepted: Accepted;
  /** The memory budget for its response, or for all responses of a batch. */
  readonly gate: AnswerGate;
}
