import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ActivityItem } from "../../src/surfaces/dashboard/api.ts";
import type { ApiFailure } from "./api-client.ts";
import { asFailure, queryText, requestApi } from "./api-client.ts";
import { subscribe } from "./live.ts";
import { keepAnswer, openRereading, readAnswer } from "./use-query.ts";

type Fields = Readonly<Record<string, string | number | undefined>>;

export interface PagesOptions<Page, Row> {
  readonly path: string;
  readonly fields: Fields;
  /** The name of the query parameter that carries the cursor. */
  readonly cursorField: string;
  readonly pageSize: number;
  readonly pageSizeMax: number;
  rows(page: Page): readonly Row[];
  next(page: Page): string | number | undefined;
  keyOf(row: Row): string;
  /** Also polls at this interval, for changes that history does not record. */
  readonly everyMs?: number;
  /** The key of the row that a change affects, or undefined if it affects no row of this list. */
  subjectOf(change: ActivityItem): string | undefined;
  /** Where a new row will appear. Rows of a filtered list can appear anywhere. */
  readonly newcomers: "first" | "anywhere" | ((key: string, pages: readonly (readonly Row[])[]) => number | undefined);
}

export interface Pages<Page, Row> {
  readonly rows: readonly Row[];
  /** The newest response for the first page. */
  readonly first?: Page;
  readonly error?: ApiFailure;
  readonly loading: boolean;
  readonly loadingMore: boolean;
  readonly more: boolean;
  loadMore(): void;
  reload(): void;
}

interface Loaded<Page> {
  readonly cursor?: string | number;
  readonly page: Page;
}

interface State<Page> {
  loaded: readonly Loaded<Page>[];
  error?: ApiFailure;
  loadingMore: boolean;
}

/** A long list, loaded page by page as the user scrolls. A change causes only the page of its row to be read again. */
export function usePages<Page, Row>(options: PagesOptions<Page, Row>): Pages<Page, Row> {
  const [, draw] = useState(0);
  const identity = `${options.path}${queryText(options.fields)}`;
  const now = useRef(options);
  now.current = options;
  const held = useRef<{ identity: string; state: State<Page>; loadMore(): void; reload(): void }>({
    identity: "",
    state: { loaded: [], loadingMore: false },
    loadMore() {},
    reload() {},
  });
  if (held.current.identity !== identity)
    held.current = { identity, state: { loaded: readAnswer<readonly Loaded<Page>[]>(`pages ${identity}`) ?? [], loadingMore: false }, loadMore() {}, reload() {} };

  useEffect(() => {
    const mine = held.current;
    const { state } = mine;
    const stale = new Map<number, number>();
    const stopping = new AbortController();

    const fetchPage = (cursor: string | number | undefined, limit: number, signal: AbortSignal): Promise<Page> =>
      requestApi<Page>(`${now.current.path}${queryText({ ...now.current.fields, [now.current.cursorField]: cursor, limit })}`, { signal });
    const put = (index: number, fresh: readonly Loaded<Page>[]): void => {
      state.loaded = [...state.loaded.slice(0, index), ...fresh, ...state.loaded.slice(index + 1)];
      keepAnswer(`pages ${identity}`, state.loaded);
      state.error = undefined;
      draw((count) => count + 1);
    };
    /** Reads this many rows from the cursor on, in as many pages as needed. */
    const fetchRows = async (from: string | number | undefined, count: number, signal: AbortSignal): Promise<readonly Loaded<Page>[]> => {
      const fresh: Loaded<Page>[] = [];
      let cursor = from;
      for (let left = count; left > 0; ) {
        const page = await fetchPage(cursor, Math.min(left, now.current.pageSizeMax), signal);
        fresh.push({ cursor, page });
        cursor = now.current.next(page);
        left -= now.current.rows(page).length;
        if (cursor === undefined || now.current.rows(page).length === 0) break;
      }
      return fresh;
    };

    const reader = openRereading(async (signal) => {
      // From the end: a page that was split in two shifts the pages after it.
      const asked = stale.size === 0 ? [[0, 0] as const] : [...stale].sort(([a], [b]) => b - a);
      stale.clear();
      try {
        for (const [index, added] of asked) {
          const before = state.loaded[index];
          // Rows were added: request that many more for the page, so that none is lost between it and the next one.
          const count = Math.max(now.current.pageSize, before === undefined ? 0 : now.current.rows(before.page).length + added);
          put(index, await fetchRows(before?.cursor, count, signal));
        }
      } catch (error) {
        if (signal.aborted) return;
        state.error = asFailure(error);
        draw((count) => count + 1);
      }
    });

    mine.reload = () => {
      state.loaded = state.loaded.slice(0, 1);
      stale.clear();
      reader.now();
    };
    mine.loadMore = async () => {
      const last = state.loaded.at(-1);
      const cursor = last && now.current.next(last.page);
      if (cursor === undefined || state.loadingMore) return;
      state.loadingMore = true;
      draw((count) => count + 1);
      try {
        const page = await fetchPage(cursor, now.current.pageSize, stopping.signal);
        state.loadingMore = false;
        put(state.loaded.length, [{ cursor, page }]);
      } catch (error) {
        state.loadingMore = false;
        if (stopping.signal.aborted) return;
        state.error = asFailure(error);
        draw((count) => count + 1);
      }
    };

    const unsubscribe = subscribe(({ changes, everything }) => {
      if (everything) for (const index of state.loaded.keys()) stale.set(index, 0);
      for (const change of changes) {
        const key = now.current.subjectOf(change);
        if (key !== undefined) for (const [index, added] of indexesOf(key)) stale.set(index, (stale.get(index) ?? 0) + added);
      }
      if (stale.size > 0) reader.soon();
    });

    function indexesOf(key: string): readonly (readonly [number, number])[] {
      const { rows, keyOf, newcomers } = now.current;
      const pages = state.loaded.map(({ page }) => rows(page));
      const index = pages.findIndex((page) => page.some((row) => keyOf(row) === key));
      if (index >= 0) return [[index, 0]];
      if (newcomers === "first") return [[0, 1]];
      if (newcomers === "anywhere") return pages.length === 0 ? [[0, 1]] : pages.map((_, page) => [page, 1] as const);
      const pageIndex = newcomers(key, pages);
      return pageIndex === undefined ? [] : [[pageIndex, 1]];
    }

    const { everyMs } = now.current;
    const timer =
      everyMs === undefined
        ? undefined
        : setInterval(() => {
            for (const index of state.loaded.keys()) stale.set(index, stale.get(index) ?? 0);
            reader.soon();
          }, everyMs);
    void reader.begin();
    return () => {
      clearInterval(timer);
      unsubscribe();
      stopping.abort();
      reader.stop();
    };
  }, [identity]);

  // Stable function identities: a re-rendered list has no reason to measure itself again.
  const { loadMore, reload } = useRef({ loadMore: () => held.current.loadMore(), reload: () => held.current.reload() }).current;
  const { loaded, error, loadingMore } = held.current.state;
  const rows = useMemo(
    () =>
      uniqueRows(
        loaded.map(({ page }) => now.current.rows(page)),
        now.current.keyOf,
      ),
    [loaded],
  );
  const last = loaded.at(-1);
  return {
    rows,
    first: loaded[0]?.page,
    error,
    loading: loaded.length === 0 && error === undefined,
    loadingMore,
    more: last !== undefined && options.next(last.page) !== undefined,
    loadMore,
    reload,
  };
}

/** Pages are read at different times, so a row that moved may be on two of them. */
function uniqueRows<Row>(pages: readonly (readonly Row[])[], keyOf: (row: Row) => string): readonly Row[] {
  if (pages.length === 1) return pages[0] ?? [];
  const seen = new Set<string>();
  const unique: Row[] = [];
  for (const row of pages.flat()) {
    const key = keyOf(row);
    if (seen.has(key)) continue;
    seen.add(key);
    unique.push(row);
  }
  return unique;
}
