import { limits } from "./limits.ts";
import type { Change, Engine, LogQuery, LogRow, Range, Revision } from "./store.ts";

/** Each value may have a megabyte, and every watcher holds a page of them. */
const rowsWithValuesMax = 50;

/**
 * Watch reads the log forward. The change signal only triggers a read, so a lost or extra notification can neither delay a change for ever
 * nor repeat one. A slow consumer simply reads later; nothing is buffered for it.
 */
export async function* watchLog(
  engine: Engine,
  namespace: string,
  range: Range,
  after: Revision,
  signal: AbortSignal,
  options: Pick<LogQuery, "values"> = {},
): AsyncGenerator<Change> {
  let isNotified = true;
  let wake: (() => void) | undefined;
  const notify = (): void => {
    isNotified = true;
    wake?.();
  };
  const stop = engine.onChange(namespace, notify);
  signal.addEventListener("abort", notify, { once: true });
  try {
    let cursor = after;
    while (!signal.aborted) {
      isNotified = false;
      const page = await engine.log(namespace, { ranges: [range], after: cursor, limit: options.values === false ? limits.logRowsMax : rowsWithValuesMax, values: options.values });
      for (const change of byRevision(page.rows)) {
        if (signal.aborted) return;
        yield change;
      }
      cursor = Math.max(cursor, page.through);
      if (!page.done || isNotified || signal.aborted) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      wake = undefined;
    }
  } finally {
    signal.removeEventListener("abort", notify);
    stop();
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
