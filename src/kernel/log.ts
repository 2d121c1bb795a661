/**
 * One line of JSON per event, on standard error only: standard output belongs to the protocol.
 * JSON escapes line breaks, so hostile text cannot forge a second line.
 */
export type LogLevel = "debug" | "info" | "warn" | "error";
export type Log = (level: LogLevel, event: string, facts?: Readonly<Record<string, unknown>>) => void;

const severity: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };

export const openLog =
  (threshold: LogLevel, write: (line: string) => void = (line) => void process.stderr.write(line)): Log =>
  (level, event, facts = {}) => {
    if (severity[level] < severity[threshold]) return;
    write(`${JSON.stringify({ time: new Date().toISOString(), level, event, ...facts })}\n`);
  };

export const silentLog: Log = () => {};
