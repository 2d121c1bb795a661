import { createRun } from "../src/domain/workflows/workflows.ts";
import { prepareCommit } from "../src/store/prepare-commit.ts";
import type { Engine, PreparedCommit, Put } from "../src/store/store.ts";
import type { Scope } from "../src/store/transact.ts";

export interface Filling {
  /** Live state entries. */
  readonly entries: number;
  /** The number of log rows at the end: every entry is written once, then some of them repeatedly. */
  readonly logRows: number;
  /** Runs ready to be claimed. */
  readonly runs: number;
}

const writesPerCommit = 32;
/** Large transactions touch each page of the key indexes once for many rows; the resulting store is the same. */
const commitsPerBatch = 2_048;
const runsAtOnce = 256;
const noteText = "Checked the deployment, two hosts answered late; raised the limit and noted it in the run book.";

/** A key's position is unrelated to the time of its write, as in real use: keys written together are far apart on disk. */
const placeOf = (n: number): number => (n * 2_654_435_761) % 4_294_967_296;
export const filledKey = (n: number): string => {
  const place = placeOf(n).toString(16).padStart(8, "0");
  return `project-${place.slice(0, 2)}/agent-${place.slice(2, 4)}/note-${place}`;
};

export async function fillStore(engine: Engine, scope: Scope, { entries, logRows, runs }: Filling, progress: (text: string) => void): Promise<void> {
  let row = 0;
  while (row < logRows) {
    const batch: PreparedCommit[] = [];
    for (; batch.length < commitsPerBatch && row < logRows; ) {
      const writes: Put[] = [];
      // In a second pass over the same keys, a commit has no key twice either, because there are far more entries than that.
      for (; writes.length < writesPerCommit && row < logRows; row += 1) writes.push(noteWrite(row % entries, row));
      batch.push(prepareCommit({ writes, writer: scope.writer }));
    }
    await engine.commit(scope.store.namespace, batch);
    progress(`filling the store: ${(row / 1_000_000).toFixed(2)} of ${(logRows / 1_000_000).toFixed(2)} million rows`);
  }
  for (let made = 0; made < runs; made += runsAtOnce) {
    const count = Math.min(runsAtOnce, runs - made);
    await Promise.all(Array.from({ length: count }, (_, i) => createRun(scope, { name: "nightly import", runId: `run-${placeOf(made + i).toString(16)}` })));
    progress(`filling the store: ${made + count} of ${runs} runs`);
  }
}

function noteWrite(entry: number, n: number): Put {
  const key = filledKey(entry);
  return { op: "put", key: `state/${key}`, value: { n, text: noteText }, record: { kind: "state", op: "set", subject: key } };
}
