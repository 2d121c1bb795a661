import { describe, expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import type { Commit, CommitResult, Committed } from "../../src/store/store.ts";
import type { AnsweredCall, LinearRun } from "../support/checkers/linearizable.ts";
import { checkLinearizable } from "../support/checkers/linearizable.ts";
import { manualClock } from "../support/manual-clock.ts";

/** A true history of three clients on a memory store: commits, refusals, reads, an expiry, a lost answer and a sweep. */
async function trueRun(): Promise<LinearRun> {
  const clock = manualClock();
  const engine = new MemoryEngine(clock);
  const store = openNamespaceStore(engine, "n", clock);
  const calls: AnsweredCall[] = [];
  let us = 0;
  const timed = async <T>(work: () => Promise<T>): Promise<[T, { calledAtUs: number; returnedAtUs: number }]> => {
    us += 10;
    const calledAtUs = us;
    const value = await work();
    us += 10;
    return [value, { calledAtUs, returnedAtUs: us }];
  };
  const commit = async (client: string, what: Omit<Commit, "writer">): Promise<void> => {
    const full = { ...what, writer: client };
    const [result, times] = await timed(() => store.commit(full));
    calls.push({ kind: "commit", client, commit: full, result, ...times });
  };
  const read = async (client: string): Promise<void> => {
    const [snapshot, times] = await timed(() => store.read(everything));
    calls.push({ kind: "read", client, range: everything, snapshot, ...times });
  };
  await commit("a", { writes: [{ op: "put", key: "x", value: 1 }] });
  await read("b");
  await commit("b", {
    checks: [{ key: "x", version: 1 }],
    writes: [
      { op: "put", key: "x", value: 2 },
      { op: "put", key: "y", value: 2, ttlMs: 10 },
    ],
  });
  await commit("c", { checks: [{ key: "x", version: 1 }], writes: [{ op: "put", key: "x", value: 3 }] });
  await read("c");
  clock.advance(10);
  await read("a");
  await engine.sweep("n", 10);
  await store.commit({ writer: "killed", writes: [{ op: "delete", key: "x" }] });
  await commit("a", { writes: [{ op: "delete", key: "nothing" }] });
  await commit("b", { checks: [{ key: "x", is: "absent" }], writes: [{ op: "put", key: "x", value: 9 }] });
  await read("a");
  return { calls, rows: (await store.log({ ranges: [everything] })).rows };
}

/** The run with its `index`-th call changed. */
const changed = ({ calls, rows }: LinearRun, index: number, change: (call: AnsweredCall) => Partial<AnsweredCall>): LinearRun => ({
  rows,
  calls: calls.map((call, i) => (i === index ? ({ ...call, ...change(call) } as AnsweredCall) : call)),
});
const resultOf = (call: AnsweredCall): CommitResult => (call.kind === "commit" ? call.result : expect.unreachable("not a commit"));

describe("linearizable (G2)", () => {
  test("holds for a true history", async () => {
    const run = await trueRun();
    expect(run.calls).toHaveLength(9);
    expect(await checkLinearizable(run)).toEqual([]);
  });

  const faults: [string, (run: LinearRun) => LinearRun][] = [
    // A read that gives the state before a commit that had already been answered.
    ["stale_read", (run) => changed(run, 4, () => ({ snapshot: run.calls[1]?.kind === "read" ? run.calls[1].snapshot : undefined }) as Partial<AnsweredCall>)],
    ["from_the_future", (run) => changed(run, 1, () => ({ snapshot: run.calls[4]?.kind === "read" ? run.calls[4].snapshot : undefined }) as Partial<AnsweredCall>)],
    ["read_unexplained", (run) => changed(run, 1, (call) => (call.kind === "read" ? { snapshot: { ...call.snapshot, entries: [] } } : {}))],
    // A second answer with a revision that another commit took: an answer before the commit, or a reused revision.
    ["revision_shared", (run) => ({ ...run, calls: [...run.calls, { ...(run.calls[2] as AnsweredCall), client: "twin" }] })],
    [
      "commit_unexplained",
      (run) =>
        changed(run, 2, (call) => ({
          result: {
            ...(resultOf(call) as Committed),
            writes: [
              { version: 7, existed: true },
              { version: 1, existed: false },
            ],
          },
        })),
    ],
    ["commit_missing", (run) => ({ ...run, rows: run.rows.filter((row) => row.revision < 5) })],
    ["log_differs", (run) => ({ ...run, rows: run.rows.map((row) => (row.revision === 2 && row.key === "y" ? { ...row, value: "other" } : row)) })],
    // A dropped check: the refusal says that it failed where it held.
    [
      "refusal_unexplained",
      (run) => changed(run, 3, (call) => ({ commit: { ...(call.kind === "commit" ? call.commit : expect.unreachable()), checks: [{ key: "x", version: 2 }] } })),
    ],
    [
      "order_broken",
      (run) =>
        changed(
          changed(run, 0, () => ({ calledAtUs: 70, returnedAtUs: 80 })),
          2,
          () => ({ calledAtUs: 1, returnedAtUs: 5 }),
        ),
    ],
  ];
  test.each(faults)("catches %s", async (fault, plant) => {
    const violations = await checkLinearizable(plant(await trueRun()));
    expect(violations.map((violation) => violation.fault)).toContain(fault);
  });
});
