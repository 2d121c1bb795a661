import { formatDuration } from "../../kernel/duration.ts";
import { localClock, localDay, localTime } from "../journal/local-time.ts";

/** To the second: nobody goes on sooner. */
export const agoText = (ms: number, nowMs: number): string => `${formatDuration(Math.max(1_000, nowMs - ms))} ago`;

/** The hour alone where it is of the same day. */
export const clockText = (ms: number, nowMs: number): string => (localDay(ms) === localDay(nowMs) ? localClock(ms) : localTime(ms));

export const untilText = (ms: number, nowMs: number): string => `until ${clockText(ms, nowMs)}`;
