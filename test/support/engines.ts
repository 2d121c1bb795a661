import { join } from "node:path";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { openPostgresEngine } from "../../src/engines/postgres/postgres-engine.ts";
import { openRedisEngine } from "../../src/engines/redis/redis-engine.ts";
import { openSqliteEngine } from "../../src/engines/sqlite/sqlite-engine.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import type { Engine } from "../../src/store/store.ts";
import { freshPostgresUrl, freshRedisUrl } from "./servers/fresh-url.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** An engine as the suites see it: a place for a new store, and the ways to open one. Titles end in "on $name", by which the matrix sorts them. */
export interface EngineUnderTest {
  readonly name: string;
  /** What was acknowledged is still there when the store is opened again. */
  readonly durable: boolean;
  /** Other processes can open the same store. */
  readonly shared: boolean;
  /** A server that others use too: the same guarantees are shown with fewer repetitions. */
  readonly isServer: boolean;
  /** The URL of a store that nobody has used, gone when the test ends. */
  freshUrl(): Promise<string>;
  /** Opened with the test's clock in the place of the engine's own: the same script gives the same times everywhere. */
  openOnClock(url: string, clock: Clock): Promise<Engine>;
}

const known: readonly EngineUnderTest[] = [
  {
    name: "memory",
    durable: false,
    shared: false,
    isServer: false,
    freshUrl: async () => "memory:",
    openOnClock: async (_url, clock) => new MemoryEngine(clock),
  },
  {
    name: "SQLite",
    durable: true,
    shared: true,
    isServer: false,
    freshUrl: async () => `sqlite:${join(await temporaryFolder(), "store.db")}`,
    openOnClock: (url, clock) => openSqliteEngine({ path: url.slice("sqlite:".length), clock }),
  },
  {
    name: "PostgreSQL",
    durable: true,
    shared: true,
    isServer: true,
    freshUrl: freshPostgresUrl,
    openOnClock: (url, clock) => openPostgresEngine({ url, timeSource: clock }),
  },
  {
    name: "Redis",
    durable: true,
    shared: true,
    isServer: true,
    freshUrl: freshRedisUrl,
    openOnClock: (url, clock) => openRedisEngine({ url, timeSource: clock }),
  },
];

/** All of them, whichever this run uses. */
export const engineNames: readonly string[] = known.map(({ name }) => name);

/** All, or those that HOLDFAST_TEST_ENGINES names (a list with commas): where only a runtime or a driver differs, the others would only be run twice. */
const wanted = process.env.HOLDFAST_TEST_ENGINES?.split(",");
export const engines = known.filter(({ name }) => wanted?.includes(name) ?? true);
if (wanted !== undefined && engines.length < wanted.length) throw new Error(`HOLDFAST_TEST_ENGINES: must name some of ${known.map(({ name }) => name).join(", ")}.`);

/** Those on which several processes can meet. */
export const sharedEngines = engines.filter(({ shared }) => shared);

export function engineNamed(name: string): EngineUnderTest {
  const engine = known.find((candidate) => candidate.name === name);
  if (engine === undefined) throw new Error(`There is no engine ${name}.`);
  return engine;
}
