import { useEffect, useRef, useState } from "preact/hooks";
import type { ActivityItem } from "../../src/surfaces/dashboard/api.ts";
import type { ApiFailure } from "./api-client.ts";
import { asFailure, requestApi } from "./api-client.ts";
import { streamStands, subscribe } from "./live.ts";

export interface Query<T> {
  readonly data?: T;
  readonly error?: ApiFailure;
  /** Nothing to show yet. */
  readonly loading: boolean;
  reload(): void;
}

const streamWaitMs = 400;
/** Automatic reads happen at most this often, and never so often that they keep the server busy. */
export const rereadMsMin = 250;
const busyShare = 4;

/** The most recent responses, so that going back shows something at once. They are read again anyway. */
const answers = new Map<string, unknown>();
const answersMax = 60;

export function keepAnswer(path: string, answer: unknown): void {
  answers.delete(path);
  answers.set(path, answer);
  if (answers.size > answersMax) answers.delete(answers.keys().next().value ?? "");
}

export const readAnswer = <T>(path: string): T | undefined => answers.get(path) as T | undefined;

export const forgetAnswers = (): void => answers.clear();

/**
 * One response of the API, read again when a change concerns it. `path` undefined: no request.
 * `everyMs`: also polls at this interval, for data that changes with time or that history does not record, such as queues.
 */
export function useQuery<T>(path: string | undefined, concerns: (change: ActivityItem) => boolean, everyMs?: number): Query<T> {
  const [, draw] = useState(0);
  const held = useRef<{ path?: string; data?: T; error?: ApiFailure; reload(): void }>({ reload: () => {} });
  if (held.current.path !== path) held.current = { path, data: path === undefined ? undefined : readAnswer<T>(path), reload: () => {} };
  const concernsNow = useRef(concerns);
  concernsNow.current = concerns;

  useEffect(() => {
    if (path === undefined) return;
    const state = held.current;
    const reader = openRereading(async (signal) => {
      try {
        const data = await requestApi<T>(path, { signal });
        keepAnswer(path, data);
        Object.assign(state, { data, error: undefined });
      } catch (error) {
        if (signal.aborted) return;
        state.error = asFailure(error);
      }
      draw((count) => count + 1);
    });
    state.reload = reader.now;
    const unsubscribe = subscribe(({ changes, everything }) => {
      if (everything || changes.some((change) => concernsNow.current(change))) reader.soon();
    });
    const timer = everyMs === undefined ? undefined : setInterval(reader.soon, everyMs);
    void reader.begin();
    return () => {
      clearInterval(timer);
      unsubscribe();
      reader.stop();
    };
  }, [path]);

  const { data, error } = held.current;
  return { data, error, loading: path !== undefined && data === undefined && error === undefined, reload: () => held.current.reload() };
}

interface Rereading {
  /** The first read, as soon as the stream is open. */
  begin(): Promise<void>;
  now(): void;
  /** Rate-limited, and not while the tab is hidden. */
  soon(): void;
  stop(): void;
}

/** Runs `read` one at a time. Requests during a run cause one more run after it. */
export function openRereading(read: (signal: AbortSignal) => Promise<void>): Rereading {
  const stopping = new AbortController();
  let begun = false;
  let running = false;
  let wanted = false;
  let restUntilMs = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const go = async (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    if (stopping.signal.aborted) return;
    if (running) {
      wanted = true;
      return;
    }
    running = true;
    wanted = false;
    const fromMs = performance.now();
    await read(stopping.signal);
    running = false;
    const tookMs = performance.now() - fromMs;
    restUntilMs = fromMs + Math.max(rereadMsMin, tookMs * busyShare);
    if (wanted) later();
  };
  const later = (): void => {
    timer ??= setTimeout(go, Math.max(0, restUntilMs - performance.now()));
  };
  const shown = () => {
    if (document.visibilityState === "visible" && wanted && !running) void go();
  };
  document.addEventListener("visibilitychange", shown, { signal: stopping.signal });
  return {
    async begin() {
      await streamStands(streamWaitMs);
      begun = true;
      await go();
    },
    now: () => void go(),
    soon() {
      if (!begun) return;
      if (running || document.visibilityState === "hidden") wanted = true;
      else later();
    },
    stop() {
      stopping.abort();
      clearTimeout(timer);
    },
  };
}
