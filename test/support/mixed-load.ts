import { everything, keyRange } from "../../src/store/ranges.ts";
import type { Check, Commit, Range, Store, Write } from "../../src/store/store.ts";
import type { AnsweredCall } from "./checkers/linearizable.ts";
import { seededRandom } from "./seeded-random.ts";

const keys = ["a", "b", "c", "d"];

/** The machine's monotonic clock: one for all processes, so that "returned before it was called" means something between them. */
const nowUs = (): number => Number(process.hrtime.bigint() / 1_000n);

/** Reads, blind writes, guarded writes and deletes of a few keys, each recorded with the times of its call and its answer. */
export async function mixedLoad(store: Store, client: string, seed: number, count: number): Promise<AnsweredCall[]> {
  const random = seededRandom(seed);
  const pick = (): string => keys[random(keys.length)] as string;
  const calls: AnsweredCall[] = [];
  const versions = new Map<string, number>();
  const read = async (range: Range): Promise<void> => {
    const calledAtUs = nowUs();
    const snapshot = await store.read(range);
    calls.push({ kind: "read", client, range, snapshot, calledAtUs, returnedAtUs: nowUs() });
    for (const entry of snapshot.entries) versions.set(entry.key, entry.version);
  };
  const commit = async (checks: readonly Check[], writes: readonly Write[]): Promise<void> => {
    const full: Commit = { writer: client, checks, writes };
    const calledAtUs = nowUs();
    const result = await store.commit(full);
    calls.push({ kind: "commit", client, commit: full, result, calledAtUs, returnedAtUs: nowUs() });
    if (!result.ok && result.reason === "checks") for (const { check, entry } of result.failed) versions.set(check.key, entry?.version ?? 0);
  };
  for (let i = 0; i < count; i += 1) {
    const value = `${client}:${i}`;
    const key = pick();
    const other = keys.find((candidate) => candidate !== key) as string;
    switch (random(8)) {
      case 0:
        await read(everything);
        break;
      case 1:
        await read(keyRange(key));
        break;
      case 2:
        await commit([], [{ op: "delete", key }]);
        break;
      case 3:
        await commit([{ key, is: "absent" }], [{ op: "put", key, value }]);
        break;
      case 4:
        await commit(
          [],
          [
            { op: "put", key, value, ttlMs: 1 + random(20) },
            { op: "put", key: other, value },
          ],
        );
        break;
      default:
        await commit([{ key, version: versions.get(key) ?? 0 }], [{ op: "put", key, value }]);
    }
  }
  return calls;
}
