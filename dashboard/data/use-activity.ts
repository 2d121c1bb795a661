import { useEffect, useRef, useState } from "preact/hooks";
import type { ActivityAnswer, ActivityItem } from "../../src/surfaces/dashboard/api.ts";
import type { ApiFailure } from "./api-client.ts";
import { asFailure, queryText, requestApi } from "./api-client.ts";
import { joined, streamStands, subscribe, unseen } from "./live.ts";

interface Filter {
  readonly kind: string;
  readonly who: string;
  readonly subject: string;
  /** Only changes up to this revision; absent = all. */
  readonly through?: number;
}

interface State {
  readonly rows: readonly ActivityItem[];
  /** Arrived while the reader was scrolled down or pointed at a row. */
  readonly held: readonly ActivityItem[];
  readonly next?: number;
  readonly loaded: boolean;
  readonly loadingMore: boolean;
  readonly error?: ApiFailure;
}

const pageSize = 100;
/** A busy store would fill the memory: the oldest rows are dropped, and read again when the reader scrolls to them. */
const rowsMax = 4_000;
/** The most pages read in a row while nothing matches. */
const pagesMax = 40;
const atTopPixels = 240;
const empty: State = { rows: [], held: [], loaded: false, loadingMore: false };

/** History never changes: new events are added at the top as they arrive, and nothing is read twice. */
export function useActivity(api: string, { kind, who, subject, through }: Filter) {
  const [state, setState] = useState<State>(empty);
  const latest = useRef(state);
  latest.current = state;
  const actions = useRef({ loadMore() {}, reload() {}, showHeld() {} });

  useEffect(() => {
    const stopping = new AbortController();
    const first = through === undefined ? undefined : through + 1;
    const fits = (item: ActivityItem): boolean =>
      (through === undefined || item.revision <= through) &&
      item.heartbeat !== true &&
      (kind === "" || item.kind === kind) &&
      (who === "" || item.agent === who || item.writer === who) &&
      item.subject.startsWith(subject);
    const fetchPage = async (before?: number): Promise<ActivityAnswer> => {
      let page: ActivityAnswer = { items: [], next: before };
      // A filter that matches little yields empty pages before the next match.
      for (let pages = 0; pages < pagesMax && page.items.length === 0 && (pages === 0 || page.next !== undefined); pages += 1)
        page = await requestApi<ActivityAnswer>(`${api}/activity${queryText({ kind, who, subject, before: page.next, limit: pageSize })}`, { signal: stopping.signal });
      return page;
    };
    const failed = (error: unknown): void => {
      if (!stopping.signal.aborted) setState((before) => ({ ...before, loadingMore: false, error: asFailure(error) }));
    };
    const reload = async (): Promise<void> => {
      try {
        const { items, next } = await fetchPage(first);
        setState(({ rows }) => ({
          rows: joined(
            rows.filter(({ revision }) => revision > (items[0]?.revision ?? 0)),
            items,
          ),
          held: [],
          next,
          loaded: true,
          loadingMore: false,
        }));
      } catch (error) {
        failed(error);
      }
    };
    const loadMore = async (): Promise<void> => {
      const { next, loadingMore } = latest.current;
      if (next === undefined || loadingMore) return;
      latest.current = { ...latest.current, loadingMore: true };
      setState((before) => ({ ...before, loadingMore: true }));
      try {
        const page = await fetchPage(next);
        setState((before) => ({ ...before, rows: joined(before.rows, page.items), next: page.next, loadingMore: false, error: undefined }));
      } catch (error) {
        failed(error);
      }
    };
    const unsubscribe = subscribe(({ changes, everything }) => {
      if (everything) return void (latest.current.loaded && reload());
      const told = changes.filter(fits).reverse();
      if (told.length === 0) return;
      setState((before) => {
        const news = unseen(told, before.rows);
        if (news.length === 0) return before;
        // Rows do not move under a pointer that is about to click one.
        if (scrollY > atTopPixels || before.held.length > 0 || document.querySelector(".table-body:hover") !== null)
          return { ...before, held: joined(news, before.held).slice(0, rowsMax) };
        return onTop(before, news);
      });
    });
    actions.current = { loadMore, reload, showHeld: () => setState((before) => onTop({ ...before, held: [] }, before.held)) };
    setState(empty);
    void streamStands(400).then(reload);
    return () => {
      unsubscribe();
      stopping.abort();
    };
  }, [api, kind, who, subject, through]);

  const { loadMore, reload, showHeld } = useRef({
    loadMore: () => actions.current.loadMore(),
    reload: () => actions.current.reload(),
    showHeld: () => actions.current.showHeld(),
  }).current;
  return { ...state, more: state.next !== undefined, loadMore, reload, showHeld };
}

function onTop(state: State, news: readonly ActivityItem[]): State {
  const rows = joined(news, state.rows);
  return rows.length <= rowsMax ? { ...state, rows } : { ...state, rows: rows.slice(0, rowsMax), next: rows[rowsMax - 1]?.revision };
}
