import { describe, expect, test } from "vitest";
import type { Change, LogRow } from "../../src/store/store.ts";
import type { SentCommit } from "../../src/verify/checkers/commits.ts";
import { checkRevisions } from "../../src/verify/checkers/revisions.ts";
import type { Violation } from "../../src/verify/checkers/violation.ts";
import { checkCalls } from "../support/engine-faults/check-calls.ts";
import { checkNeverGivenAgain, checkTokens, checkWatchOverLoss } from "../support/engine-faults/check-loss.ts";

const faultsOf = (violations: readonly Violation[]): string[] => [...new Set(violations.map((violation) => violation.fault))];
const row = (revision: number): LogRow => ({ revision, seq: 0, key: `key-${revision}`, op: "put", version: revision, value: revision, atMs: revision, writer: "w" });
const change = (revision: number): Change => ({ revision, atMs: revision, rows: [row(revision)] });

describe("calls while an engine fails (G19)", () => {
  const rules = { deadlineMs: 1_000, slackMs: 100 };
  const call = { client: "c", kind: "read", tookMs: 1_050, ended: "answered" } as const;
  test("may be answered, fail, or leave a write's outcome open, within their time", () =>
    expect(checkCalls([call, { ...call, ended: "unavailable" }, { ...call, kind: "commit", tookMs: 1_300, ended: "outcome_unknown" }], rules)).toEqual([]));
  test("may take as many times longer as their machine was slower", () => {
    expect(checkCalls([{ ...call, tookMs: 2_199, pace: 2 }], rules)).toEqual([]);
    expect(faultsOf(checkCalls([{ ...call, tookMs: 2_201, pace: 2 }], rules))).toEqual(["call_too_late"]);
  });
  test.each([
    ["one never ends", { client: "c", kind: "read" } as const, "call_never_ended"],
    ["one ends after its deadline", { ...call, tookMs: 1_101 }, "call_too_late"],
    ["a commit is sent after the one before it got no answer in time", { ...call, kind: "commit", tookMs: 1_401 } as const, "call_too_late"],
    ["a read's outcome is called unknown", { ...call, ended: "outcome_unknown" } as const, "read_unknown"],
    ["one fails as something that the engine's end does not explain", { ...call, ended: "store_damaged" } as const, "unexpected_failure"],
    ["one fails as nothing that callers know", { ...call, ended: "defect" } as const, "unexpected_failure"],
  ])("are faulty when %s", (_, faulty, fault) => expect(faultsOf(checkCalls([call, faulty], rules))).toEqual([fault]));
});

describe("a history that went back", () => {
  const gaps = [[3, 1_000]] as const;
  const rows = [1, 2, 3, 1_001, 1_002].map(row);
  const committed = (client: string, key: string, revision: number, version: number): SentCommit => ({
    client,
    writes: [{ key, value: client }],
    answer: { revision, versions: [version] },
  });

  test("gives revisions and versions once (G4)", () => expect(checkNeverGivenAgain([committed("a", "x", 4, 4), committed("b", "x", 1_001, 1_001)])).toEqual([]));
  test("is found to give a revision again", () => expect(faultsOf(checkNeverGivenAgain([committed("a", "x", 4, 4), committed("b", "y", 4, 1)]))).toEqual(["revision_given_again"]));
  test("is found to give a version again", () =>
    expect(faultsOf(checkNeverGivenAgain([committed("a", "x", 4, 4), committed("b", "x", 1_001, 4)]))).toEqual(["version_given_again"]));

  test("gives tokens once, and growing (G7)", () => {
    const grant = (client: string, token: number) => ({ client, resource: "r", token });
    expect(checkTokens([grant("a", 2), grant("b", 3), grant("a", 1_001)])).toEqual([]);
    expect(faultsOf(checkTokens([grant("a", 2), grant("b", 2)]))).toEqual(["token_given_again"]);
    expect(faultsOf(checkTokens([grant("a", 5), grant("a", 4)]))).toEqual(["token_went_back"]);
  });

  test("continues at the announced revision and nowhere else (G4)", () => {
    const run = { rows, acknowledged: [], revision: 1_002 };
    expect(checkRevisions({ ...run, gaps })).toEqual([]);
    expect(faultsOf(checkRevisions(run))).toEqual(["revision_gap"]);
    expect(faultsOf(checkRevisions({ ...run, rows: rows.filter(({ revision }) => revision !== 3), gaps }))).toEqual(["revision_gap"]);
    expect(faultsOf(checkRevisions({ ...run, rows: rows.filter(({ revision }) => revision !== 1_001), gaps }))).toEqual(["revision_gap"]);
  });

  describe("and its watchers (G10)", () => {
    const check = (lives: readonly { after: number; revisions: number[]; ended?: string }[], wasKilled = false): string[] => {
      const recorded = lives.map(({ after, revisions, ended }) => ({ after, changes: revisions.map(change), ended }));
      return faultsOf(checkWatchOverLoss({ lives: recorded, rows, gaps, wasKilled }));
    };
    test("go over the gap when they have seen nothing that is lost", () => expect(check([{ after: 0, revisions: [1, 2, 3, 1_001, 1_002] }])).toEqual([]));
    test("are notified, and start again from the present, if they have", () =>
      expect(
        check([
          { after: 0, revisions: [1, 2, 3, 4, 5], ended: "unavailable" },
          { after: 5, revisions: [], ended: "compacted" },
          { after: 1_001, revisions: [1_002] },
        ]),
      ).toEqual([]));
    test("have seen everything until they are killed", () => {
      expect(check([{ after: 0, revisions: [1, 2, 3, 1_001] }], true)).toEqual([]);
      expect(check([{ after: 0, revisions: [1, 2, 3, 4] }], true)).toEqual([]);
      expect(check([{ after: 0, revisions: [1, 3, 4] }], true)).toEqual(["missing"]);
    });
    test.each([
      ["led_over_the_loss", [{ after: 0, revisions: [1, 2, 3, 4, 1_001, 1_002] }]],
      [
        "led_over_the_loss",
        [
          { after: 0, revisions: [1, 2, 3, 4], ended: "unavailable" },
          { after: 4, revisions: [1_001, 1_002] },
        ],
      ],
      [
        "missing",
        [
          { after: 0, revisions: [1, 3, 4], ended: "compacted" },
          { after: 1_001, revisions: [1_002] },
        ],
      ],
      ["missing", [{ after: 0, revisions: [1, 2, 3, 1_002] }]],
      [
        "incomplete",
        [
          { after: 0, revisions: [1, 2, 4], ended: "compacted" },
          { after: 1_001, revisions: [1_002] },
        ],
      ],
      ["incomplete", [{ after: 0, revisions: [1, 2, 3, 1_001] }]],
      [
        "compacted_without_loss",
        [
          { after: 0, revisions: [1, 2], ended: "compacted" },
          { after: 2, revisions: [3, 1_001, 1_002] },
        ],
      ],
    ])("are found: %s", (fault, lives) => expect(check(lives)).toContain(fault));
  });
});
