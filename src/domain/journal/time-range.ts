import { invalidInput } from "../../kernel/errors.ts";

export interface TimeRange {
  readonly fromMs: number;
  /** Absent: up to now. */
  readonly untilMs?: number;
}

export const timeRangeForms =
  "must be a length of time up to now (30m, 24h, 7d, 1w, 2weeks, 1 month, 1y), today, yesterday, or an ISO date or time to begin with (2026-01-31, 2026-01-31T09:30, 2026-01-31T09:30:00Z)";

const unitMs: Readonly<Record<string, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000 };
const unitNames: Readonly<Record<string, string>> = {
  m: "minute",
  min: "minute",
  mins: "minute",
  minute: "minute",
  minutes: "minute",
  h: "hour",
  hr: "hour",
  hrs: "hour",
  hour: "hour",
  hours: "hour",
  d: "day",
  day: "day",
  days: "day",
  w: "week",
  week: "week",
  weeks: "week",
  mo: "month",
  month: "month",
  months: "month",
  y: "year",
  year: "year",
  years: "year",
};

/** Parses text such as "7d", "yesterday" or "2026-01-31" in local time. The error for any other text lists the accepted forms. */
export function parseTimeRange(field: string, text: string, nowMs: number): TimeRange {
  const words = text.trim().toLowerCase();
  const now = new Date(nowMs);
  if (words === "today") return { fromMs: startOfDay(now, 0) };
  if (words === "yesterday") return { fromMs: startOfDay(now, -1), untilMs: startOfDay(now, 0) };
  const [, amount, unit] = /^(\d{1,5})\s*([a-z]+)$/.exec(words) ?? [];
  const name = unitNames[unit ?? ""];
  if (amount !== undefined && name !== undefined && Number(amount) > 0) return { fromMs: Math.max(0, back(now, Number(amount), name)) };
  const fromMs = isoTime(text.trim());
  if (fromMs === undefined) throw invalidInput(field, timeRangeForms);
  return { fromMs };
}

/** Months and years follow the calendar: one month before 31 March is the last day of February. */
function back(now: Date, amount: number, unit: string): number {
  const ms = unitMs[unit];
  if (ms !== undefined) return now.getTime() - amount * ms;
  const months = now.getFullYear() * 12 + now.getMonth() - amount * (unit === "year" ? 12 : 1);
  const year = Math.floor(months / 12);
  if (year < 1970) return 0;
  const daysThere = new Date(year, (months % 12) + 1, 0).getDate();
  const then = new Date(now);
  then.setFullYear(year, months % 12, Math.min(now.getDate(), daysThere));
  return then.getTime();
}

const isoForm = /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?([Zz]|[+-]\d{2}:?\d{2})?)?$/;

/** Local time unless the text has a time zone. Undefined for a day that does not exist, such as 30 February. */
function isoTime(text: string): number | undefined {
  const found = isoForm.exec(text);
  if (found === null) return undefined;
  const [year, month, day, hour, minute, second] = found.slice(1, 7).map((part) => Number(part ?? 0)) as [number, number, number, number, number, number];
  const ms = Math.floor(Number(`0.${found[7] ?? 0}`) * 1_000);
  // Date functions read years below 100 as 19xx, and no entry is older than 1970 anyway.
  if (year < 1970) return undefined;
  const utc = new Date(Date.UTC(year, month - 1, day, hour, minute, second, ms));
  if (utc.getUTCMonth() !== month - 1 || utc.getUTCDate() !== day || hour > 23 || minute > 59 || second > 59) return undefined;
  const zone = found[8];
  if (zone === undefined) return new Date(year, month - 1, day, hour, minute, second, ms).getTime();
  if (zone.toUpperCase() === "Z") return utc.getTime();
  const [zoneHours, zoneMinutes] = [Number(zone.slice(1, 3)), Number(zone.slice(-2))];
  if (zoneHours > 14 || zoneMinutes > 59) return undefined;
  const offsetMinutes = zoneHours * 60 + zoneMinutes;
  return utc.getTime() - (zone.startsWith("-") ? -1 : 1) * offsetMinutes * 60_000;
}

/** Uses calendar days instead of 24 hours, because days on which the clocks change are shorter or longer. */
const startOfDay = (now: Date, days: number): number => new Date(now.getFullYear(), now.getMonth(), now.getDate() + days).getTime();
