import { useEffect, useState } from "preact/hooks";
import { serverNowMs, tick } from "../data/server-clock.ts";
import { durationText, formatAgo, formatExact } from "./format.ts";

/** A text that changes with time, re-rendered only when it differs. */
export function useTicking(text: () => string): string {
  const [, setText] = useState("");
  const now = text();
  useEffect(() => tick.follow(() => setText(text())));
  return now;
}

const iso = (atMs: number): string | undefined => (Math.abs(atMs) <= 8.64e15 ? new Date(atMs).toISOString() : undefined);

/** "5 min ago", with the exact time on hover. */
export function Ago({ at }: { readonly at: number }) {
  const text = useTicking(() => formatAgo(at, serverNowMs()));
  return (
    <time class="time" dateTime={iso(at)} title={formatExact(at)}>
      {text}
    </time>
  );
}

/** "in 4 min 10 s", or that the time has passed. */
export function Countdown({ until, over = "lapsed" }: { readonly until: number; readonly over?: string }) {
  const text = useTicking(() => {
    const leftMs = until - serverNowMs();
    return leftMs <= 0 ? over : `in ${durationText(Math.max(1_000, Math.floor(leftMs / 1_000) * 1_000))}`;
  });
  return (
    <time class="time" dateTime={iso(until)} title={formatExact(until)}>
      {text}
    </time>
  );
}

/** The time elapsed since then. */
export function Since({ at }: { readonly at: number }) {
  const text = useTicking(() => durationText(Math.max(1_000, Math.floor((serverNowMs() - at) / 1_000) * 1_000)));
  return (
    <time class="time" dateTime={iso(at)} title={`since ${formatExact(at)}`}>
      {text}
    </time>
  );
}

/** A given rendering of a time, with the exact time on hover. */
export function At({ at, as }: { readonly at: number; as(atMs: number): string }) {
  return (
    <time class="time" dateTime={iso(at)} title={formatExact(at)}>
      {as(at)}
    </time>
  );
}
