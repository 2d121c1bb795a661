import { isHoldfastError } from "../../kernel/errors.ts";
import { limits } from "../../store/limits.ts";
import { everything } from "../../store/ranges.ts";
import type { LogPage, LogRow, Revision, Store } from "../../store/store.ts";

/** What happened to one thing, since a revision. */
export interface ThingChanged {
  readonly kind: string;
  readonly name: string;
  /** The last operation, and how many there were. */
  readonly op: string;
  readonly times: number;
  readonly writer: string;
  readonly agent?: string;
  readonly revision: Revision;
}
export interface Changes {
  /** Newest first. */
  readonly things: readonly ThingChanged[];
  /** Older changes were not looked at, or are no longer kept. */
  readonly partial: boolean;
}

/** Signs of life, not news. */
const heartbeat = "renew";

export async function readChanges(store: Store, after: Revision): Promise<Changes> {
  const { page, compacted } = await readNews(store, after);
  const things = new Map<string, ThingChanged>();
  for (const row of page.rows.toSorted((a, b) => b.revision - a.revision || b.seq - a.seq)) {
    const { kind, op, subject } = row.record as NonNullable<LogRow["record"]>;
    if (op === heartbeat) continue;
    const id = JSON.stringify([kind, subject]);
    const known = things.get(id);
    if (known === undefined) things.set(id, { kind, name: subject, op, times: 1, writer: row.writer, agent: row.agent, revision: row.revision });
    else things.set(id, { ...known, times: known.times + 1 });
  }
  return { things: [...things.values()], partial: compacted || !page.done };
}

async function readNews(store: Store, after: Revision): Promise<{ readonly page: LogPage; readonly compacted: boolean }> {
  const query = { ranges: [everything], after, reverse: true, recorded: {}, values: false, limit: limits.logRowsMax } as const;
  try {
    return { page: await store.log(query), compacted: false };
  } catch (error) {
    if (!isHoldfastError(error, "compacted")) throw error;
    return { page: await store.log({ ...query, lenient: true }), compacted: true };
  }
}
