import type { ActivityItem, Hello } from "../../src/surfaces/dashboard/api.ts";
import { cell } from "../cell.ts";
import { apiPath, asFailure, openStream, queryText } from "./api-client.ts";
import { signedOut } from "./credential.ts";
import { readServerEvents } from "./event-stream.ts";

export type StreamState =
  | { readonly state: "connecting" }
  | { readonly state: "live" }
  /** The tab is hidden: browsers limit the number of connections, and other tabs need them. */
  | { readonly state: "paused" }
  | { readonly state: "waiting"; readonly untilMs: number; readonly why: string }
  | { readonly state: "stopped"; readonly why: string };

export const connection = cell<StreamState>({ state: "connecting" });

/** Identifies a change. */
export const activityKey = ({ revision, kind, operation, subject }: ActivityItem): string => `${revision} ${kind} ${operation} ${subject}`;

/** A list may have been read after a change but before its event; such a change is in both. */
export function unseen(items: readonly ActivityItem[], shown: readonly ActivityItem[]): readonly ActivityItem[] {
  const keys = new Set(shown.map(activityKey));
  return items.filter((item) => !keys.has(activityKey(item)));
}

export const joined = (first: readonly ActivityItem[], second: readonly ActivityItem[]): readonly ActivityItem[] => [...first, ...unseen(second, first)];

/** Changes that arrived together, oldest first; `everything`: any part of the page may be outdated. */
export type News = { readonly changes: readonly ActivityItem[]; readonly everything: boolean };

type Listener = (news: News) => void;
const listeners = new Set<Listener>();

/** The server sends a comment at least every 15 seconds: after this much silence the connection is considered dead. */
const silenceMsMax = 40_000;
const backoffMs = [300, 700, 1_500, 3_000, 6_000, 12_000, 20_000] as const;
const pausedAfterMs = 30_000;
/** Changes of one burst are delivered together: a busy store makes thousands a second, and a screen shows sixty frames. */
const gatherMs = 40;

let following: { readonly namespace: string; readonly stop: AbortController } | undefined;
let wake: (() => void) | undefined;
/** Closes the open connection. */
let hangUp: (() => void) | undefined;
let hiddenAtMs: number | undefined;
let greeted: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;
let gathered: ActivityItem[] = [];

export function subscribe(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Follows one namespace; a second call switches to another. */
export function follow(namespace: string): void {
  if (following?.namespace === namespace) return;
  unfollow();
  const stop = new AbortController();
  following = { namespace, stop };
  greeted = Promise.withResolvers<void>();
  connection.set({ state: "connecting" });
  void run(namespace, stop.signal);
}

export function unfollow(): void {
  following?.stop.abort();
  following = undefined;
  gathered = [];
}

export const tryNow = (): void => wake?.();

/** Resolves when the stream is open, or after `waitMs` without it. Reads after the stream opened cannot miss a change. */
export const streamStands = (waitMs: number): Promise<void> => Promise.race([greeted?.promise ?? Promise.resolve(), new Promise<void>((resolve) => setTimeout(resolve, waitMs))]);

async function run(namespace: string, signal: AbortSignal): Promise<void> {
  /** The id of the last event, from which the stream continues. */
  let seen: string | undefined;
  for (let failures = 0; !signal.aborted; failures += 1) {
    if (isUnwatched()) await watchedAgain(signal);
    const attempt = new AbortController();
    const end = () => attempt.abort();
    hangUp = end;
    signal.addEventListener("abort", end, { once: true });
    let why = "The server closed the connection.";
    try {
      for await (const { id, event, data } of eventsOf(namespace, seen, attempt)) {
        if (event === "hello") {
          failures = 0;
          connection.set({ state: "live" });
          greeted?.resolve();
          if (seen === undefined) tell({ changes: [], everything: true });
          seen ??= String((JSON.parse(data) as Hello).revision);
        } else if (event === "change") gather(JSON.parse(data) as ActivityItem);
        else if (event === "compacted") tell({ changes: [], everything: true });
        seen = id ?? seen;
      }
    } catch (error) {
      const failure = asFailure(error);
      if (!attempt.signal.aborted) why = failure.message;
      if (failure.status === 403 || failure.status === 404) return signal.aborted ? undefined : connection.set({ state: "stopped", why });
    } finally {
      signal.removeEventListener("abort", end);
      attempt.abort();
    }
    if (signal.aborted || signedOut.get() !== undefined) return;
    if (isUnwatched()) continue;
    await pause(backoffMs[Math.min(failures, backoffMs.length - 1)] ?? 0, why, signal);
    if (!signal.aborted) connection.set({ state: "connecting" });
  }
}

async function* eventsOf(namespace: string, after: string | undefined, attempt: AbortController) {
  let watchdog = setTimeout(() => attempt.abort(), silenceMsMax);
  try {
    const response = await openStream(`${apiPath(namespace)}/events${queryText({ after })}`, attempt.signal);
    if (response.body === null) return;
    for await (const event of readServerEvents(response.body)) {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => attempt.abort(), silenceMsMax);
      yield event;
    }
  } finally {
    clearTimeout(watchdog);
  }
}

const isUnwatched = (): boolean => hiddenAtMs !== undefined && performance.now() - hiddenAtMs >= pausedAfterMs;

function watchedAgain(signal: AbortSignal): Promise<void> {
  connection.set({ state: "paused" });
  return new Promise((resolve) => {
    wake = () => {
      wake = undefined;
      connection.set({ state: "connecting" });
      resolve();
    };
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Adds jitter: pages that lost the same server must not all reconnect at the same moment. */
function pause(ms: number, why: string, signal: AbortSignal): Promise<void> {
  const waitMs = ms * (0.75 + Math.random() / 2);
  connection.set({ state: "waiting", untilMs: Date.now() + waitMs, why });
  return new Promise((resolve) => {
    const timer = setTimeout(done, waitMs);
    function done() {
      clearTimeout(timer);
      wake = undefined;
      resolve();
    }
    wake = done;
    signal.addEventListener("abort", done, { once: true });
  });
}

function gather(change: ActivityItem): void {
  if (gathered.length === 0) setTimeout(tellGathered, gatherMs);
  gathered.push(change);
}

function tellGathered(): void {
  const changes = gathered;
  gathered = [];
  if (changes.length > 0) tell({ changes, everything: false });
}

function tell(news: News): void {
  for (const listener of [...listeners]) listener(news);
}

addEventListener("online", tryNow);
document.addEventListener("visibilitychange", () => {
  hiddenAtMs = document.visibilityState === "hidden" ? performance.now() : undefined;
  if (hiddenAtMs === undefined) tryNow();
  else setTimeout(() => isUnwatched() && hangUp?.(), pausedAfterMs + 50);
});
