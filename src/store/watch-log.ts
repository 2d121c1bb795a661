import { limits } from "./limits.ts";
import type { LogTail } from "./log-tail.ts";
import type { Change, Engine, LogQuery, LogRow, Range, Revision } from "./store.ts";

/** Each value may have a megabyte, and every watcher holds a page of them. */
const rowsWithValuesMax = 50;

/**
 * Watch reads the log forward: by itself until it has reached the end, then together with the store's other watchers. The change signal only triggers a read,
 * so a lost or extra notification can neither delay a change for ever nor repeat one. A slow consumer simply reads later; nothing is buffered for it.
 */
export async function* watchLog(
  engine: Engine,
  namespace: string,
  tail: LogTail,
  range: Range,
  after: Revision,
  signal: AbortSignal,
  { values }: Pick<LogQuery, "values"> = {},
): AsyncGenerator<Change> {
  const withValues = values !== false;
  const limit = withValues ? rowsWithValuesMax : limits.logRowsMax;
  const reader = tail.join(range, after, withValues);
  const onAbort = (): void => reader.readItself();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    let rows: readonly LogRow[] | undefined;
    while (!signal.aborted) {
      let isAtEnd = true;
      if (rows === undefined) {
        const page = await engine.log(namespace, { ranges: [range], after: reader.cursor, limit, values });
        reader.moveTo(page.through);
        rows = page.rows;
        isAtEnd = page.done;
      }
      for (const change of byRevision(rows)) {
        if (signal.aborted) return;
        yield change;
      }
      rows = isAtEnd && !signal.aborted ? await reader.next() : undefined;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    reader.leave();
  }
}

function* byRevision(rows: readonly LogRow[]): Generator<Change> {
  let from = 0;
  for (let i = 1; i <= rows.length; i += 1) {
    const first = rows[from] as LogRow;
    if (i < rows.length && (rows[i] as LogRow).revision === first.revision) continue;
    yield { revision: first.revision, atMs: first.atMs, rows: rows.slice(from, i) };
    from = i;
  }
}
