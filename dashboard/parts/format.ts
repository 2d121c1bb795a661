const numbers = new Intl.NumberFormat("en");
export const formatNumber = (value: number): string => numbers.format(value);

/** 1,234 · 12.3 k · 4.5 M: for narrow spaces. */
export const formatShort = (value: number): string => (value < 10_000 ? formatNumber(value) : value < 1_000_000 ? `${trim(value / 1_000)} k` : `${trim(value / 1_000_000)} M`);
const trim = (value: number): string => (value < 100 ? value.toFixed(1).replace(/\.0$/, "") : String(Math.round(value)));

export const plural = (count: number, one: string, many = `${one}s`): string => `${formatNumber(count)} ${count === 1 ? one : many}`;

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** The two largest units: 2 h 5 min. Below a minute with a decimal, below a second in milliseconds. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1).replace(/\.0$/, "")} s`;
  const first = units.findIndex(([, size]) => ms >= size);
  const [name, size] = units[first] ?? units[3];
  const whole = Math.floor(ms / size);
  const [smallName, smallSize] = units[first + 1] ?? ["", 0];
  const rest = smallSize === 0 ? 0 : Math.floor((ms - whole * size) / smallSize);
  return rest === 0 ? `${whole} ${name}` : `${whole} ${name} ${rest} ${smallName}`;
}

/** One unit, in everyday words. */
export function formatAgo(atMs: number, nowMs: number): string {
  const ms = nowMs - atMs;
  if (ms < -1_500) return `in ${durationText(-ms)}`;
  if (ms < 2_000) return "just now";
  const [name, size] = units.find(([, each]) => ms >= each) ?? units[3];
  const count = Math.floor(ms / size);
  return name === "d" && count > 30 ? formatDay(atMs) : `${count} ${name} ago`;
}

const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const weekday = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long", year: "numeric" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const clockSeconds = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** A stored time can be any number; not every number is a valid date. */
const dated = (format: Intl.DateTimeFormat, atMs: number): string => (Math.abs(atMs) <= 8.64e15 ? format.format(atMs) : "an impossible time");
export const formatExact = (atMs: number): string => dated(exact, atMs);
export const formatDay = (atMs: number): string => dated(day, atMs);
export const formatClock = (atMs: number): string => dated(clock, atMs);
export const formatClockSeconds = (atMs: number): string => dated(clockSeconds, atMs);

/** Today, Yesterday, or the day with its name. */
export function formatDayHeading(atMs: number, nowMs: number): string {
  const text = dated(weekday, atMs);
  if (text === weekday.format(nowMs)) return "Today";
  return text === weekday.format(nowMs - 86_400_000) ? "Yesterday" : text;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  return bytes < 1_048_576 ? `${(bytes / 1_024).toFixed(bytes < 10_240 ? 1 : 0)} KB` : `${(bytes / 1_048_576).toFixed(1)} MB`;
}
