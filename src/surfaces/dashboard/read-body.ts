import type * as z from "zod";
import { inputProblems } from "../../tools/input-problems.ts";
import type { ApiRequest } from "./api-route.ts";

/** The body of an action, checked like a tool's arguments: everything that is wrong is named with what is allowed. */
export async function readBody<Schema extends z.ZodObject>(request: ApiRequest, action: string, schema: Schema): Promise<z.output<Schema>> {
  const given = await request.json();
  const parsed = schema.safeParse(given);
  if (!parsed.success) throw inputProblems(action, schema, given, parsed.error.issues);
  return parsed.data;
}
