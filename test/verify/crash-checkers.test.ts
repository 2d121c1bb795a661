import { describe, expect, test } from "vitest";
import type { LogRow } from "../../src/store/store.ts";
import type { SentCommit } from "../../src/verify/checkers/commits.ts";
import { checkCommits } from "../../src/verify/checkers/commits.ts";
import { checkExpiry } from "../../src/verify/checkers/expiry.ts";
import type { HandoverEvent } from "../../src/verify/checkers/handover.ts";
import { checkHandover } from "../../src/verify/checkers/handover.ts";
import type { Violation } from "../../src/verify/checkers/violation.ts";

const faultsOf = (violations: readonly Violation[]): string[] => [...new Set(violations.map(({ guarantee, fault }) => `${guarantee} ${fault}`))];

describe("commits after a crash (G1, G5)", () => {
  const row = (revision: number, seq: number, key: string, version: number, rest: Partial<LogRow> = {}): LogRow => ({
    revision,
    seq,
    key,
    version,
    op: "put",
    value: `${key}-${revision}`,
    atMs: revision,
    writer: "a",
    ...rest,
  });
  const rows = [row(1, 0, "x", 1), row(2, 0, "x", 2), row(2, 1, "y", 1), row(3, 0, "x", 2, { op: "delete", value: null }), row(4, 0, "z", 1), row(4, 1, "q", 1)];
  const sent: readonly SentCommit[] = [
    { client: "a", writes: [{ key: "x", value: "x-1" }], answer: { revision: 1, versions: [1] } },
    {
      client: "a",
      writes: [
        { key: "x", value: "x-2" },
        { key: "y", value: "y-2" },
      ],
      answer: { revision: 2, versions: [2, 1] },
    },
    { client: "a", writes: [{ key: "x" }, { key: "never" }], answer: { revision: 3, versions: [2, 0] } },
    // Sent and not answered: it may stand there or not, but whole.
    {
      client: "a",
      writes: [{ key: "z", value: "z-4" }, { key: "q", value: "q-4" }, { key: "gone" }],
    },
    { client: "a", writes: [{ key: "x", value: "lost on the way" }] },
    { client: "a", writes: [{ key: "y", value: "too late" }], answer: "refused" },
  ];
  const without = (revision: number, seq?: number): readonly LogRow[] => rows.filter((found) => found.revision !== revision || (seq !== undefined && found.seq !== seq));

  test("hold when every answer stands and what went unanswered stands whole", () => expect(checkCommits(sent, rows)).toEqual([]));
  test("hold when what went unanswered is not there", () => expect(checkCommits(sent, without(4))).toEqual([]));
  test.each([
    ["an acknowledged commit is gone", sent, without(1), "G1 acknowledged_commit_missing"],
    ["an acknowledged commit is there in part", sent, without(2, 1), "G5 commit_torn"],
    ["an unanswered commit is there in part", sent, without(4, 1), "G5 commit_torn"],
    ["an acknowledged commit has another value", sent, rows.map((found) => (found.revision === 1 ? { ...found, value: "other" } : found)), "G1 acknowledged_commit_differs"],
    ["an acknowledged commit has another version", sent, rows.map((found) => (found.revision === 1 ? { ...found, version: 7 } : found)), "G1 acknowledged_commit_differs"],
    ["a refused commit is there", sent, [...rows, row(5, 0, "y", 2, { value: "too late" })], "G1 unsent_commit_found"],
    ["an unanswered commit is there twice", sent, [...rows, row(5, 0, "z", 2, { value: "z-4" }), row(5, 1, "q", 2, { value: "q-4" })], "G1 unsent_commit_found"],
    ["two were told the same revision", [...sent, ...sent.slice(0, 1)], rows, "G1 revision_given_twice"],
  ])("are broken when %s", (_, commits, found, fault) => expect(faultsOf(checkCommits(commits, found))).toContain(fault));
});

describe("expiry (G6)", () => {
  const write = { key: "k", ttlMs: 10, revision: 1, atMs: 100, expiresAtMs: 110 };
  const look = (nowMs: number, keys: readonly string[], revision = 1) => ({ by: "r", revision, nowMs, keys });
  test("holds to the millisecond", () => expect(checkExpiry([write], [look(99, [], 0), look(100, ["k"]), look(109, ["k"]), look(110, [])])).toEqual([]));
  test.each([
    ["an entry is gone a millisecond early", [look(109, [])], "G6 gone_before_its_time"],
    ["an entry is there at its time", [look(110, ["k"])], "G6 returned_after_its_time"],
    ["the clock goes back", [look(109, ["k"]), look(108, ["k"])], "G6 clock_went_back"],
  ])("is broken when %s", (_, looks, fault) => expect(faultsOf(checkExpiry([write], looks))).toEqual([fault]));
  test("is broken when an entry is given another time than it was asked for", () => expect(faultsOf(checkExpiry([{ ...write, ttlMs: 11 }], []))).toEqual(["G6 other_time"]));
});

describe("a run handed over (G8)", () => {
  const events: readonly HandoverEvent[] = [
    { revision: 1, what: "claimed", by: "a" },
    { revision: 2, what: "step", by: "a", step: 1 },
    { revision: 3, what: "claimed", by: "b" },
    { revision: 4, what: "step", by: "b", step: 2 },
  ];
  const handover = { by: "b", foundStep: 1, acknowledgedStep: 1, sentStep: 2 };
  test("holds when the successor continues where the other was", () => expect(checkHandover("run", events, [handover])).toEqual([]));
  test("is broken when the replaced worker writes", () =>
    expect(faultsOf(checkHandover("run", [...events, { revision: 5, what: "step", by: "a", step: 3 }], []))).toEqual(["G8 replaced_worker_wrote"]));
  test("is broken when a step is done again", () =>
    expect(faultsOf(checkHandover("run", [...events, { revision: 5, what: "step", by: "b", step: 2 }], []))).toEqual(["G8 step_out_of_order"]));
  test("is broken when an acknowledged step is not found", () =>
    expect(faultsOf(checkHandover("run", events, [{ ...handover, foundStep: 0 }]))).toEqual(["G8 acknowledged_step_lost"]));
  test("is broken when a step is found that no worker sent", () => expect(faultsOf(checkHandover("run", events, [{ ...handover, foundStep: 3 }]))).toEqual(["G8 step_invented"]));
});
