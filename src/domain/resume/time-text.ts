import { formatDuration } from "../../kernel/duration.ts";
import { localClock, localDay, localTime } from "../journal/local-time.ts";

/** At least one second, because no agent resumes sooner. */
export const agoText = (ms: number, nowMs: number): string => `${formatDuration(Math.max(1_000, nowMs - ms))} ago`;

/** Only the time of day if it is the same day. */
export const clockText = (ms: number, nowMs: number): string => (localDay(ms) === localDay(nowMs) ? localClock(ms) : localTime(ms));

export const untilText = (ms: number, nowMs: number): string => `until ${clockText(ms, nowMs)}`;
