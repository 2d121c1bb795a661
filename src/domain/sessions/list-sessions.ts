import { rangeAfter } from "../../store/ranges.ts";
import type { Scope } from "../../store/transact.ts";
import { sessionKeys } from "../keyspace.ts";
import type { SavedSession } from "./sessions.ts";

/** A saved session without its context, which may be long. */
export interface SessionSummary extends Omit<SavedSession, "context"> {
  readonly writer: string;
  readonly agent?: string;
}

export interface SessionsQuery {
  readonly limit: number;
  /** The last id of the previous page. */
  readonly after?: string;
}

/** Sessions in id order. */
export async function listSessions(
  { store }: Pick<Scope, "store">,
  { limit, after }: SessionsQuery,
): Promise<{ readonly sessions: readonly SessionSummary[]; readonly next?: string }> {
  const range = after === undefined ? sessionKeys.all : rangeAfter(sessionKeys.all, sessionKeys.key(after));
  const { entries, more } = await store.read(range, { limit, values: false });
  const sessions = entries.map(({ key, version, createdAtMs, updatedAtMs, expiresAtMs, writer, agent }) => ({
    sessionId: sessionKeys.idOf(key),
    version,
    savedAtMs: createdAtMs,
    updatedAtMs,
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
    writer,
    ...(agent === undefined ? {} : { agent }),
  }));
  const last = sessions.at(-1);
  return { sessions, ...(more && last !== undefined ? { next: last.sessionId } : {}) };
}
