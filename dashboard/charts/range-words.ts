import { durationText, formatClock, formatDay } from "../parts/format.ts";

const hourMs = 3_600_000;
const steps = 60;

/** "60 minutes", "6 hours", "7 days". */
export const rangeWords = (rangeMs: number): string =>
  rangeMs <= hourMs ? `${rangeMs / 60_000} minutes` : rangeMs <= 24 * hourMs ? `${rangeMs / hourMs} hours` : `${rangeMs / (24 * hourMs)} days`;

/** The name of one of a range's sixty steps. */
export const stepWords = (rangeMs: number): string => (rangeMs === hourMs ? "minute" : durationText(rangeMs / steps));

/** A time on the axis of a range. For ranges beyond a day, the day is more useful than the time. */
export const formatMoment = (atMs: number, rangeMs: number): string => (rangeMs > 24 * hourMs ? formatDay(atMs) : formatClock(atMs));
