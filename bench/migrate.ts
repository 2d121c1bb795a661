import { join } from "node:path";
import { openEngine } from "../src/engines/open-store.ts";
import { systemClock } from "../src/kernel/clock.ts";
import { indexText } from "../src/search/index-text.ts";
import { prepareCommit } from "../src/store/prepare-commit.ts";
import type { Engine, PreparedCommit, Put } from "../src/store/store.ts";
import { readFacts } from "../src/transfer/stores/change-seal.ts";
import { compareNamespaces } from "../src/transfer/stores/compare-namespaces.ts";
import { moveNamespace } from "../src/transfer/stores/move-namespace.ts";
import { retryingEngine } from "../src/transfer/stores/retrying-engine.ts";
import { startPostgres } from "../test/support/servers/postgres-server.ts";
import { startRedis } from "../test/support/servers/redis-server.ts";
import { filledKey } from "./fill-store.ts";
import type { Figure } from "./report.ts";
import { spreadOf } from "./rounds.ts";
import type { Surroundings } from "./surroundings.ts";

const namespace = "moving";

/** A store with its whole history through every engine and back, copied and compared; at the end, the last store is compared with the first. */
export async function measureMigration({ folder, progress }: Pick<Surroundings, "folder" | "progress">, { entries }: { readonly entries: number }): Promise<Figure[]> {
  await using postgres = await startPostgres();
  await using redis = await startRedis({ appendfsync: "always" });
  const urls = [`sqlite:${join(folder, "from.db")}`, postgres.url, redis.url, `sqlite:${join(folder, "to.db")}`];
  const names = ["SQLite", "PostgreSQL", "Redis", "SQLite"];
  await using engines = await openAll(urls);
  await fill(engines.all[0] as Engine, entries, progress);
  const figures: Figure[] = [];
  for (let i = 1; i < urls.length; i += 1) {
    const [source, destination] = [engines.all[i - 1], engines.all[i]].map((engine) => ({ engine: retryingEngine(engine as Engine, systemClock), namespace })) as [Side, Side];
    const title = `${names[i - 1]} → ${names[i]}`;
    const startedMs = performance.now();
    const moved = await moveNamespace({
      source,
      destination,
      by: title,
      clock: systemClock,
      staysOpen: false,
      destinationName: title,
      onProgress: ({ stage, records }) => progress(`${title}: ${stage} ${records}`),
    });
    if (!moved.ok) throw new Error(`${title}: ${moved.difference}`);
    const seconds = (performance.now() - startedMs) / 1_000;
    figures.push(
      {
        what: `${title}: records copied and compared (${moved.records.toLocaleString("en-US")} in ${seconds.toFixed(1)} s)`,
        unit: "per second",
        value: spreadOf([moved.records / seconds]),
      },
      { what: `${title}: writers stopped`, unit: "ms", value: spreadOf([moved.pausedMs]) },
    );
  }
  const [first, last] = [engines.all[0], engines.all.at(-1)].map((engine) => ({ engine: engine as Engine, namespace })) as [Side, Side];
  const compared = await compareNamespaces(first, last, { facts: await readFacts(first) });
  if (!compared.equal) throw new Error(`After the round: ${compared.difference}`);
  return figures;
}

interface Side {
  readonly engine: Engine;
  readonly namespace: string;
}

async function openAll(urls: readonly string[]): Promise<{ readonly all: readonly Engine[] } & AsyncDisposable> {
  const all: Engine[] = [];
  for (const url of urls) all.push(await openEngine(url));
  return {
    all,
    async [Symbol.asyncDispose]() {
      for (const engine of all) await engine[Symbol.asyncDispose]();
    },
  };
}

/** Every entry written twice, a tenth of them findable and a tenth deleted, a request key for every commit. */
async function fill(engine: Engine, entries: number, progress: (text: string) => void): Promise<void> {
  const perCommit = 8;
  for (let row = 0; row < entries * 2; ) {
    const batch: PreparedCommit[] = [];
    for (; batch.length < 512 && row < entries * 2; ) {
      const writes = Array.from({ length: perCommit }, (_, i) => writeOf((row + i) % entries, row + i, row >= entries));
      batch.push(prepareCommit({ writes, writer: "filler", request: { key: `r${row}`, fingerprint: "f", note: row } }));
      row += perCommit;
    }
    await engine.commit(namespace, batch);
    progress(`filling the store: ${row} of ${entries * 2} rows`);
  }
}

function writeOf(entry: number, n: number, isSecond: boolean): Put | { readonly op: "delete"; readonly key: string } {
  const key = `state/${filledKey(entry)}`;
  if (isSecond && entry % 10 === 3) return { op: "delete", key };
  const text = `Checked deployment ${n}, two hosts answered late; raised the limit and noted it in the run book.`;
  return {
    op: "put",
    key,
    value: { n, text },
    record: { kind: "state", op: "set", subject: key },
    ...(entry % 10 === 0 ? { index: indexText("notes", [{ text, weight: 1 }]) } : {}),
  };
}
