import type { IncomingMessage, ServerResponse } from "node:http";
import type { AnswerGate } from "../../../store/answer-gates.ts";
import type { Accepted } from "./answer-http.ts";
import type { McpAccess } from "./mcp-http.ts";
import type { Tenant } from "./tenant.ts";

/** One POST on its way: who sent it, and how it is to be answered. */
export interface Posted {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly access: McpAccess;
  readonly tenant: Tenant;
  readonly accepted: Accepted;
  /** What its answer, or all answers of a batch, are built within. */
  readonly gate: AnswerGate;
}
