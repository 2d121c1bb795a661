import { describe, expect, test } from "vitest";
import type { LogRow } from "../../src/store/store.ts";
import { checkAtomic } from "../../src/verify/checkers/atomic.ts";
import type { FencingEvent } from "../../src/verify/checkers/fencing.ts";
import { checkFencing } from "../../src/verify/checkers/fencing.ts";
import type { HistoryAndState } from "../../src/verify/checkers/history-equals-state.ts";
import { checkHistoryEqualsState } from "../../src/verify/checkers/history-equals-state.ts";
import { checkNoLostUpdate } from "../../src/verify/checkers/lost-update.ts";
import { checkOneWinner } from "../../src/verify/checkers/one-winner.ts";
import { checkRetrySafe } from "../../src/verify/checkers/retry-safe.ts";
import type { RevisionRun } from "../../src/verify/checkers/revisions.ts";
import { checkRevisions } from "../../src/verify/checkers/revisions.ts";
import type { Violation } from "../../src/verify/checkers/violation.ts";
import { Violations } from "../../src/verify/checkers/violation.ts";
import type { WatchRun } from "../../src/verify/checkers/watch.ts";
import { checkWatch } from "../../src/verify/checkers/watch.ts";
import { checkDurable } from "../support/checkers/durable.ts";

const faultsOf = (violations: readonly Violation[]): string[] => [...new Set(violations.map((violation) => violation.fault))];

const row = (revision: number, key: string, version: number, rest: Partial<LogRow> = {}): LogRow => ({
  revision,
  seq: 0,
  key,
  op: "put",
  version,
  value: `${key}${version}`,
  atMs: revision * 10,
  writer: "w",
  ...rest,
});
const gone = (revision: number, key: string, version: number, rest: Partial<LogRow> = {}): LogRow => row(revision, key, version, { op: "delete", value: null, ...rest });

describe("no lost update (G3)", () => {
  const good = {
    increments: [1, 2, 3].map((version) => ({ client: `c${version}`, version, value: version })),
    unanswered: 0,
    final: { version: 3, value: 3 },
  };
  test("holds for a counter that counts", () => expect(checkNoLostUpdate(good)).toEqual([]));
  test("an unanswered increment may have happened or not", () => {
    expect(checkNoLostUpdate({ ...good, unanswered: 1 })).toEqual([]);
    expect(checkNoLostUpdate({ ...good, unanswered: 1, final: { version: 4, value: 4 } })).toEqual([]);
  });
  test("catches a lost update", () => expect(faultsOf(checkNoLostUpdate({ ...good, final: { version: 2, value: 2 } }))).toEqual(["update_lost"]));
  test("catches an invented update", () => expect(faultsOf(checkNoLostUpdate({ ...good, final: { version: 4, value: 4 } }))).toEqual(["update_invented"]));
  test("catches two winners of one version", () =>
    expect(faultsOf(checkNoLostUpdate({ ...good, increments: [...good.increments, { client: "d", version: 2, value: 2 }] }))).toEqual(["two_winners", "update_lost"]));
  test("catches an increment of a stale value", () =>
    expect(faultsOf(checkNoLostUpdate({ ...good, increments: [...good.increments.slice(0, 2), { client: "d", version: 3, value: 2 }], final: { version: 3, value: 2 } }))).toEqual([
      "stale_increment",
      "update_lost",
      "version_differs",
    ]));
});

describe("one winner (G8)", () => {
  const good = { name: "run", winners: ["a"], unanswered: [], holder: "a" };
  test("holds when one won and has it", () => expect(checkOneWinner([good, { ...good, winners: [], unanswered: ["b"], holder: "b" }])).toEqual([]));
  test.each([
    ["several_winners", { ...good, winners: ["a", "b"] }],
    ["no_winner", { ...good, winners: [], holder: undefined }],
    ["winner_forgotten", { ...good, holder: undefined }],
    ["holder_differs", { ...good, holder: "b" }],
    ["holder_invented", { ...good, winners: [], unanswered: ["b"], holder: "c" }],
  ])("catches %s", (fault, race) => expect(faultsOf(checkOneWinner([race]))).toEqual([fault]));
});

describe("one clock (G4)", () => {
  const good: RevisionRun = {
    rows: [row(1, "a", 1), row(1, "b", 1, { seq: 1 }), row(2, "a", 2), gone(3, "a", 2), row(4, "a", 3)],
    acknowledged: [1, 2, 3, 4].map((revision) => ({ client: "c", revision })),
    revision: 4,
  };
  const withRow = (i: number, change: Partial<LogRow>): RevisionRun => ({ ...good, rows: good.rows.map((item, n) => (n === i ? { ...item, ...change } : item)) });
  test("holds for a log without gaps", () => expect(checkRevisions(good)).toEqual([]));
  test.each<[string, RevisionRun]>([
    ["revision_gap", { ...good, rows: good.rows.filter((item) => item.revision !== 3) }],
    ["revision_reused", withRow(1, { seq: 0 })],
    ["revision_went_back", { ...good, rows: [row(2, "c", 1), ...good.rows.slice(0, 1)] }],
    ["version_reused", withRow(4, { version: 2 })],
    ["version_went_back", withRow(4, { version: 1 })],
    ["clock_went_back", withRow(2, { atMs: 5 })],
    ["revision_differs", { ...good, revision: 5 }],
    ["revision_given_twice", { ...good, acknowledged: [...good.acknowledged, { client: "d", revision: 2 }] }],
    ["revision_unknown", { ...good, acknowledged: [{ client: "d", revision: 9 }] }],
  ])("catches %s", (fault, run) => expect(faultsOf(checkRevisions(run))).toContain(fault));
});

describe("atomic (G5)", () => {
  const members = ["x", "y", "z"];
  test("holds when all or none are seen, with one value", () =>
    expect(
      checkAtomic(members, [
        { by: "r", revision: 0, values: {} },
        { by: "r", revision: 1, values: { x: 1, y: 1, z: 1 } },
      ]),
    ).toEqual([]));
  test("catches a missing part", () => expect(faultsOf(checkAtomic(members, [{ by: "r", revision: 1, values: { x: 1, y: 1 } }]))).toEqual(["part_missing"]));
  test("catches a part of another commit", () => expect(faultsOf(checkAtomic(members, [{ by: "r", revision: 2, values: { x: 2, y: 2, z: 1 } }]))).toEqual(["part_differs"]));
});

describe("history equals state (G11)", () => {
  const rows = [row(1, "a", 1), row(2, "b", 1, { expiresAtMs: 45 }), row(3, "a", 2), gone(4, "a", 2), row(5, "c", 1), gone(6, "b", 1, { op: "expire", writer: "holdfast" })];
  const entry = { key: "c", value: "c1", version: 1, revision: 5, createdAtMs: 50, updatedAtMs: 50, writer: "w" };
  const good: HistoryAndState = { rows, entries: [entry], nowMs: 60, changesByWriter: { w: 5 } };
  test("holds when the log gives the state and every change is counted once", () => expect(checkHistoryEqualsState(good)).toEqual([]));
  test("what has expired and is not swept yet is not missed", () => expect(checkHistoryEqualsState({ ...good, rows: rows.slice(0, 5) })).toEqual([]));
  test.each<[string, Partial<HistoryAndState>]>([
    ["state_without_history", { rows: rows.filter((item) => item.key !== "c") }],
    ["history_without_state", { entries: [] }],
    ["state_differs", { entries: [{ ...entry, value: "other" }] }],
    ["ended_twice", { rows: [...rows, gone(7, "a", 2)] }],
    ["ended_other_version", { rows: rows.map((item) => (item.revision === 4 ? { ...item, version: 1 } : item)) }],
    ["expired_early", { rows: rows.map((item) => (item.op === "expire" ? { ...item, atMs: 44 } : item)) }],
    ["record_lost", { changesByWriter: { w: 6 } }],
    ["record_twice", { changesByWriter: { w: 4 } }],
    ["unknown_writer", { changesByWriter: {} }],
  ])("catches %s", (fault, change) => expect(faultsOf(checkHistoryEqualsState({ ...good, ...change }))).toContain(fault));
});

describe("watch (G10)", () => {
  const rows = [row(1, "a", 1), row(1, "b", 1, { seq: 1 }), row(2, "a", 2), row(4, "a", 3), row(5, "b", 2)];
  const change = (revision: number, of = rows.filter((item) => item.revision === revision)) => ({ revision, atMs: revision * 10, rows: of });
  const good: WatchRun = {
    rows,
    lives: [
      { after: 0, changes: [change(1), change(2)] },
      { after: 2, changes: [change(4), change(5)] },
    ],
  };
  const first = (changes: WatchRun["lives"][number]["changes"]): WatchRun => ({ rows, lives: [{ after: 0, changes }] });
  test("holds for a watcher that was restarted and saw it all", () => expect(checkWatch(good)).toEqual([]));
  test.each<[string, WatchRun]>([
    ["out_of_order", first([change(2), change(1), change(4), change(5)])],
    ["repeated", first([change(1), change(2), change(2), change(4), change(5)])],
    ["missing", first([change(1), change(4), change(5)])],
    ["incomplete", first([change(1), change(2)])],
    ["torn", first([change(1, rows.slice(0, 1)), change(2), change(4), change(5)])],
    ["row_differs", first([change(1), change(2, [row(2, "a", 9)]), change(4), change(5)])],
    ["invented", first([change(1), change(2), change(3, [row(3, "a", 3)]), change(4), change(5)])],
    ["resumed_elsewhere", { rows, lives: [good.lives[0] as WatchRun["lives"][number], { after: 3, changes: [change(4), change(5)] }] }],
  ])("catches %s", (fault, run) => expect(faultsOf(checkWatch(run))).toEqual([fault]));
});

describe("fencing (G7)", () => {
  const good: FencingEvent[] = [
    { revision: 1, what: "granted", holder: "a", token: 1, atMs: 0, expiresAtMs: 10 },
    { revision: 2, what: "write", by: "a", token: 1, atMs: 5 },
    { revision: 3, what: "renewed", token: 1, expiresAtMs: 20 },
    { revision: 4, what: "write", by: "a", token: 1, atMs: 15 },
    { revision: 5, what: "granted", holder: "b", token: 5, atMs: 20, expiresAtMs: 30 },
    { revision: 6, what: "ended", token: 5 },
    { revision: 7, what: "granted", holder: "c", token: 7, atMs: 22, expiresAtMs: 30 },
  ];
  test("holds for grants that follow each other", () => expect(checkFencing(good)).toEqual([]));
  test.each<[string, FencingEvent]>([
    ["token_reused", { revision: 8, what: "granted", holder: "d", token: 7, atMs: 40, expiresAtMs: 50 }],
    ["token_went_back", { revision: 8, what: "granted", holder: "d", token: 5, atMs: 40, expiresAtMs: 50 }],
    ["two_holders", { revision: 8, what: "granted", holder: "d", token: 8, atMs: 29, expiresAtMs: 50 }],
    ["stale_write_accepted", { revision: 8, what: "write", by: "a", token: 1, atMs: 23 }],
    ["lapsed_write_accepted", { revision: 8, what: "write", by: "c", token: 7, atMs: 30 }],
    ["stale_renewal_accepted", { revision: 8, what: "renewed", token: 5, expiresAtMs: 99 }],
  ])("catches %s", (fault, event) => expect(faultsOf(checkFencing([...good, event]))).toEqual([fault]));
});

describe("durable (G1)", () => {
  const sent = [
    { key: "a", value: "1", revision: 1 },
    { key: "a", value: "2", revision: 2 },
    { key: "b", value: "3" },
  ];
  const found = [
    { key: "a", value: "1", revision: 1 },
    { key: "a", value: "2", revision: 2 },
  ];
  test("holds when what was acknowledged is there; the unanswered may be there or not", () => {
    expect(checkDurable(sent, found)).toEqual([]);
    expect(checkDurable(sent, [...found, { key: "b", value: "3", revision: 3 }])).toEqual([]);
  });
  test("asks of an acknowledged write whose revision was not told only that it is there", () => {
    const unknown = [{ key: "a", value: "1", revision: "unknown" as const }];
    expect(checkDurable(unknown, found.slice(0, 1))).toEqual([]);
    expect(faultsOf(checkDurable(unknown, []))).toEqual(["acknowledged_write_missing"]);
  });
  test.each([
    ["acknowledged_write_missing", found.slice(0, 1)],
    ["acknowledged_write_moved", [found[0], { key: "a", value: "2", revision: 5 }]],
    ["unsent_write_found", [...found, { key: "c", value: "9", revision: 3 }]],
    ["write_done_twice", [...found, { key: "a", value: "1", revision: 1 }]],
  ])("catches %s", (fault, writes) => expect(faultsOf(checkDurable(sent, writes as typeof found))).toEqual([fault]));
});

describe("retry-safe (G9)", () => {
  const good = { key: "r", answers: ["ok", "ok"], effects: 1 };
  test("holds when every answer is the first one and the effect stands once", () =>
    expect(
      checkRetrySafe([
        good,
        { key: "lost", answers: [], effects: 0 },
        { key: "unheard", answers: [], effects: 1 },
        { key: "refused", answers: ["no", "no"], effects: 0, refused: true },
      ]),
    ).toEqual([]));
  test.each([
    ["effect_twice", { ...good, effects: 2 }],
    ["effect_lost", { ...good, effects: 0 }],
    ["answers_differ", { ...good, answers: ["ok", "other"] }],
    ["refused_took_effect", { ...good, refused: true }],
  ])("catches %s", (fault, request) => expect(faultsOf(checkRetrySafe([request]))).toEqual([fault]));
});

test("a report names the first violations and counts the rest", () => {
  const violations = new Violations("G1");
  for (let i = 0; i < 120; i += 1) violations.add("fault", `number ${i}`);
  expect(violations.list()).toHaveLength(51);
  expect(violations.list().at(-1)).toEqual({ guarantee: "G1", fault: "more", detail: "70 more are left out." });
});
