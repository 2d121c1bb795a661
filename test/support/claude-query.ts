import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { ClaudeSessionEntry, ClaudeSessionStore } from "../../src/claude.ts";

/**
 * Stands in for the SDK where a test runs an example, because the SDK would start its program and call a model. It uses the store as the SDK does: `load`
 * before a resumed turn, one `append` at its end. A turn whose prompt is "wait" lasts until standard input ends.
 */
export async function* query({ prompt, options }: { readonly prompt: string; readonly options: { readonly sessionStore: ClaudeSessionStore; readonly resume?: string } }) {
  const { sessionStore, resume } = options;
  const session_id = resume ?? randomUUID();
  const key = { projectKey: "-srv-app", sessionId: session_id };
  const before = resume === undefined ? [] : await sessionStore.load(key);
  const entry = (text: string): ClaudeSessionEntry => ({ type: "user", uuid: randomUUID(), text });
  await sessionStore.append(key, [entry(prompt)]);
  if (prompt === "wait") {
    process.stdout.write(`waiting: session ${session_id}\n`);
    await once(process.stdin.resume(), "end");
  }
  await sessionStore.append(key, [entry(`after ${before?.length ?? 0} entries`)]);
  yield { type: "result", subtype: "success", session_id };
}

export const foldSessionSummary = (_previous: unknown, { sessionId }: { readonly sessionId: string }) => ({ sessionId, mtime: 0, data: {} });
