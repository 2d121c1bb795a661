import { startPostgres } from "../servers/postgres-server.ts";
import { startRedis } from "../servers/redis-server.ts";
import type { ServerProcess } from "../servers/server-process.ts";

export interface ServerUnderTest {
  readonly name: string;
  /** With settings under which every acknowledged write is promised to stay. */
  start(): Promise<ServerProcess & { readonly port: number; readonly url: string }>;
}

export const serversUnderTest: readonly ServerUnderTest[] = [
  { name: "Redis", start: () => startRedis({ appendfsync: "always" }) },
  { name: "PostgreSQL", start: () => startPostgres() },
];

/** The URL of a store whose calls end within so long. */
export const withDeadline = (url: string, deadlineMs: number): string => `${url}${url.includes("?") ? "&" : "?"}deadline=${deadlineMs}ms`;
