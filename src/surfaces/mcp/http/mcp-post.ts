import type { IncomingMessage, ServerResponse } from "node:http";
import type { AnswerGate } from "../../../store/answer-gates.ts";
import type { Accepted } from "./answer-http.ts";
import type { McpContext } from "./mcp-contexts.ts";
import type { McpAccess } from "./mcp-http.ts";

/** One POST on its way: who sent it, and how it is to be answered. */
export interface McpPost {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly access: McpAccess;
  readonly context: McpContext;
  readonly accepted: Accepted;
  /** What its answer, or all answers of a batch, are built within. */
  readonly gate: AnswerGate;
}
