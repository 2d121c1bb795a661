import { join } from "node:path";
import type { Figure } from "./report.ts";
import { against } from "./report.ts";
import { measureAgainst } from "./rounds.ts";
import type { SumOperation, SumWorkload } from "./sum-workload.ts";
import type { Surroundings } from "./surroundings.ts";
import { bundled } from "./surroundings.ts";

const rounds = 150;
const budget = { atMost: 1.03 };

/** Callers' operations, then the engine's own operations without the tools above them, which show where the time goes. */
const names: Readonly<Record<SumOperation, string>> = {
  setCalls: "call of state_set",
  getCalls: "call of state_get",
  listCalls: "call of state_list, 100 entries",
  historyCalls: "call of history_log, 100 records",
  noteCalls: "call of save_knowledge, 40 terms",
  commits: "commit, 64 in flight",
  gets: "read of one key",
  lists: "listing of 100 entries",
  keys: "listing of 100 keys",
  logPages: "page of 100 log rows",
  notes: "note of 40 terms",
};

/**
 * The cost of computing and comparing the checksums of SQLite records, in processor time: the same engine with and without it, alternating in one process. Both have
 * the columns of the sums, so the cost of storing and fetching them is not part of the ratio.
 */
export async function measureSums({ folder, progress }: Surroundings): Promise<Figure[]> {
  await using checked = await open("with-sums", folder);
  await using unchecked = await open("without-sums", folder);
  const figures: Figure[] = [];
  for (const operation of Object.keys(names) as SumOperation[]) {
    const { cost } = await measureAgainst(
      () => unchecked.cost(operation),
      { cost: () => checked.cost(operation) },
      rounds,
      (round) => progress(`checksums, ${names[operation]}: round ${round} of ${rounds}`),
    );
    figures.push(against(`processor time with checksums, ${names[operation]}`, "µs", "without", cost, budget));
  }
  return figures;
}

async function open(name: string, folder: string): Promise<SumWorkload> {
  const { openSumWorkload } = (await import(bundled(join(name, "sum-workload.mjs")))) as typeof import("./sum-workload.ts");
  return openSumWorkload(join(folder, `${name}.db`));
}
