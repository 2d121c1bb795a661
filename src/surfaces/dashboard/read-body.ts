import type * as z from "zod";
import { inputProblems, requireShortLists } from "../../tools/input-problems.ts";
import type { ApiRequest } from "./api-route.ts";

/** Checks the body of an action like a tool's arguments: the error names every wrong field and what is allowed. */
export async function readBody<Schema extends z.ZodObject>(request: ApiRequest, action: string, schema: Schema): Promise<z.output<Schema>> {
  const given = await request.json();
  requireShortLists(action, schema, given);
  const parsed = schema.safeParse(given);
  if (!parsed.success) throw inputProblems(action, schema, given, parsed.error.issues);
  return parsed.data;
}
