const two = (value: number): string => String(value).padStart(2, "0");

/** `2026-11-15`, in the time zone of the process. */
export function localDay(ms: number): string {
  const date = new Date(ms);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** `09:20`. */
export function localClock(ms: number): string {
  const date = new Date(ms);
  return `${two(date.getHours())}:${two(date.getMinutes())}`;
}

export const localTime = (ms: number): string => `${localDay(ms)} ${localClock(ms)}`;
