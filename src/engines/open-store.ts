import { existsSync } from "node:fs";
import type { Clock } from "../kernel/clock.ts";
import { systemClock } from "../kernel/clock.ts";
import { invalidInput } from "../kernel/errors.ts";
import type { Log } from "../kernel/log.ts";
import { silentLog } from "../kernel/log.ts";
import type { StoreScheme } from "../kernel/store-url.ts";
import { schemeOf } from "../kernel/store-url.ts";
import { noStoreError } from "../store/engine-rules.ts";
import type { Engine } from "../store/store.ts";

export interface OpenEngineOptions {
  readonly clock?: Clock;
  readonly log?: Log;
  readonly sqliteDriver?: "auto" | "node" | "photostructure";
  /** False: if the store does not exist, throw `not_found` instead of creating it. */
  readonly creates?: boolean;
}

type Opener = (url: string, options: Required<OpenEngineOptions>) => Promise<Engine>;

/** Its clock is the server's. */
const openPostgres: Opener = async (url, { log, creates }) => {
  const { openPostgresEngine } = await import("./postgres/postgres-engine.ts");
  return openPostgresEngine({ url, log, creates });
};

/** One server, a group behind sentinels or a cluster, each with or without TLS; its clock is the server's. */
const openRedis: Opener = async (url, { log, creates }) => {
  const { openRedisEngine } = await import("./redis/redis-engine.ts");
  return openRedisEngine({ url, log, creates });
};

/** Every kind of store by the scheme of its URL. An engine and its driver are loaded only when used. */
const openers: Readonly<Record<StoreScheme, Opener>> = {
  sqlite: async (url, { clock, log, sqliteDriver, creates }) => {
    const path = url.slice("sqlite:".length).replace(/^\/\/(?=\/)/, "");
    if (path === "" || path === ":memory:") throw invalidInput("store", "sqlite: needs the path of a file, for example sqlite:data/holdfast.db (memory: keeps nothing on disk)");
    if (!creates && !existsSync(path)) throw noStoreError();
    const { openSqliteEngine } = await import("./sqlite/sqlite-engine.ts");
    return openSqliteEngine({ path, clock, log, driver: sqliteDriver });
  },
  postgres: openPostgres,
  postgresql: openPostgres,
  redis: openRedis,
  rediss: openRedis,
  "redis+sentinel": openRedis,
  "rediss+sentinel": openRedis,
  "redis+cluster": openRedis,
  "rediss+cluster": openRedis,
  memory: async (_url, { clock }) => {
    const { MemoryEngine } = await import("./memory/memory-engine.ts");
    return new MemoryEngine(clock);
  },
};

export async function openEngine(url: string, { clock = systemClock, log = silentLog, sqliteDriver = "auto", creates = true }: OpenEngineOptions = {}): Promise<Engine> {
  const scheme = schemeOf(url);
  if (scheme === undefined)
    throw invalidInput(
      "store",
      `must be a URL that begins with one of ${Object.keys(openers)
        .map((name) => `${name}:`)
        .join(", ")}`,
    );
  return openers[scheme](url, { clock, log, sqliteDriver, creates });
}
