import { join } from "node:path";
import { listState, readState, setState } from "../src/domain/state/state.ts";
import { claimNextRun } from "../src/domain/workflows/claims.ts";
import { giveBackRun } from "../src/domain/workflows/workflows.ts";
import { openEngine } from "../src/engines/open-store.ts";
import { systemClock } from "../src/kernel/clock.ts";
import { openNamespaceStore } from "../src/store/namespace-store.ts";
import type { Scope } from "../src/store/transact.ts";
import { startPostgres } from "../test/support/servers/postgres-server.ts";
import { startRedis } from "../test/support/servers/redis-server.ts";
import type { EngineName } from "./engines/measure-engines.ts";
import type { Filling } from "./fill-store.ts";
import { filledKey, fillStore } from "./fill-store.ts";
import type { Figure } from "./report.ts";
import { against } from "./report.ts";
import { measureAgainst } from "./rounds.ts";
import type { Surroundings } from "./surroundings.ts";

const rounds = 9;
const sliceMs = 300;
const pageEntries = 100;
const budget = { atMost: 1.5 };

/** Nearly empty, but with something to read, list and claim. */
const small: Filling = { entries: 1_000, logRows: 1_000, runs: 50 };
/** A queued run is three entries. */
const entriesPerRun = 3;
const runsInLine = 50_000;

interface Filled extends AsyncDisposable {
  readonly scope: Scope;
  readonly filling: Filling;
}

/** The cost of an operation in a large store, compared with the same operation in a nearly empty store, measured alternately. */
export async function measureGrowth(
  { folder, progress }: Surroundings,
  { engine, entries, logRows }: { readonly engine: EngineName; readonly entries: number; readonly logRows: number },
): Promise<Figure[]> {
  await using fewPlace = await places[engine](join(folder, "small.db"));
  await using manyPlace = await places[engine](join(folder, "large.db"));
  await using few = await openFilled(fewPlace.url, small, progress);
  await using many = await openFilled(manyPlace.url, { entries: entries - entriesPerRun * runsInLine, logRows: logRows - entriesPerRun * runsInLine, runs: runsInLine }, progress);
  const figures: Figure[] = [];
  for (const [what, cost] of Object.entries(costs)) {
    const { large } = await measureAgainst(
      () => cost(few),
      { large: () => cost(many) },
      rounds,
      (round) => progress(`${what}: round ${round} of ${rounds}`),
    );
    figures.push(
      against(
        `${engine}: ${what}, ${entries.toLocaleString("en-US")} entries, log ${logRows.toLocaleString("en-US")}`,
        "µs",
        "nearly empty",
        large,
        what === scattered ? undefined : budget,
      ),
    );
  }
  return figures;
}

/**
 * The keys of one batch are far apart: in a large store, each needs its own page, written to the log and again to the file; in a small one, they share a few pages.
 * Any tree of pages has that property, so the figure is reported without a budget.
 */
const scattered = "commit, 64 in flight, keys at random";

/** Microseconds per operation. */
const costs: Readonly<Record<string, (filled: Filled) => Promise<number>>> = {
  "commit, one at a time": (filled) => costOf(1, (n) => setAgain(filled, n)),
  [scattered]: (filled) => costOf(64, (n) => setAgain(filled, n)),
  "commit of a new key, 64 in flight": (filled) => costOf(64, (n) => setState(filled.scope, { key: `new/${anyOf(4_294_967_296)}-${n}`, value: { n } })),
  "read of a key": ({ scope, filling }) =>
    costOf(1, async () => {
      if ((await readState(scope, filledKey(anyOf(filling.entries)))) === undefined) throw new Error("A key that was written is missing.");
    }),
  [`list page of ${pageEntries} keys`]: ({ scope, filling }) =>
    costOf(1, () => listState(scope, { prefix: "project-", after: filledKey(anyOf(filling.entries)), limit: pageEntries, values: false })),
  "claim of the next run": claimCost,
};

const setAgain = ({ scope, filling }: Filled, n: number) => setState(scope, { key: filledKey(anyOf(filling.entries)), value: { n, text: "The same note, a little later." } });

const anyOf = (count: number): number => Math.floor(Math.random() * count);

async function costOf(inFlight: number, operation: (n: number) => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  let count = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() - startedMs < sliceMs) await operation(count++);
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return ((performance.now() - startedMs) * 1_000) / count;
}

/** Every claimed run is given back, outside the measured time, so that the queue keeps its length. */
async function claimCost({ scope }: Filled): Promise<number> {
  const startedMs = performance.now();
  let claimingMs = 0;
  let count = 0;
  for (; performance.now() - startedMs < 2 * sliceMs; count += 1) {
    const beforeMs = performance.now();
    const claim = await claimNextRun(scope, { tags: [], agentId: "worker", ttlMs: 60_000 });
    claimingMs += performance.now() - beforeMs;
    if (!claim.ok) throw new Error("There was a run to claim, but the claim found none.");
    await giveBackRun(scope, { runId: claim.runId, agentId: "worker" });
  }
  return (claimingMs * 1_000) / count;
}

/** A separate server for each store: the small one must not pay for the large one's memory. */
const places: Readonly<Record<EngineName, (path: string) => Promise<AsyncDisposable & { readonly url: string }>>> = {
  sqlite: async (path) => ({ url: `sqlite:${path}`, [Symbol.asyncDispose]: async () => {} }),
  postgres: () => startPostgres(),
  redis: () => startRedis({ appendfsync: "always" }),
};

async function openFilled(url: string, filling: Filling, progress: (text: string) => void): Promise<Filled> {
  const engine = await openEngine(url);
  const scope: Scope = { store: openNamespaceStore(engine, "bench", systemClock), clock: systemClock, writer: "bench" };
  await fillStore(engine, scope, filling, progress);
  return { scope, filling, [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose]() };
}
