import { expect, test } from "vitest";
import { commitState, deleteState, listState, readState, setState, waitForState } from "../../src/domain/state/state.ts";
import { openScope, passTime } from "../support/scope.ts";

test("a write without a time to live clears an earlier one", async () => {
  const scope = openScope();
  await setState(scope, { key: "k", value: 1, ttlMs: 10 });
  await setState(scope, { key: "k", value: 2 });
  scope.clock.advance(1_000);
  expect(await readState(scope, "k")).toMatchObject({ value: 2, version: 2, expiresAtMs: undefined });
});

test("a prefix is a plain string: wildcards mean themselves", async () => {
  const scope = openScope();
  for (const key of ["a%b", "a%c", "axb", "a_b", "[a]", "a\\b", "A%b"]) await setState(scope, { key, value: 1 });
  const keys = async (prefix: string) => (await listState(scope, { prefix, limit: 100, values: false })).entries.map((entry) => entry.key);
  expect(await keys("a%")).toEqual(["a%b", "a%c"]);
  expect(await keys("a_")).toEqual(["a_b"]);
  expect(await keys("[a")).toEqual(["[a]"]);
  expect(await keys("a\\")).toEqual(["a\\b"]);
});

test("the past is read by version and by revision, also across a delete", async () => {
  const scope = openScope();
  await setState(scope, { key: "k", value: "one" });
  await setState(scope, { key: "k", value: "two" });
  await deleteState(scope, { key: "k" });
  await setState(scope, { key: "k", value: "three" });
  expect(await readState(scope, "k", { version: 1 })).toMatchObject({ value: "one", revision: 1 });
  expect(await readState(scope, "k", { revision: 2 })).toMatchObject({ value: "two", version: 2 });
  expect(await readState(scope, "k", { revision: 3 })).toBeUndefined();
  expect(await readState(scope, "k")).toMatchObject({ value: "three", version: 3 });
  expect(await readState(scope, "k", { version: 9 })).toBeUndefined();
});

test("waiting for a version ends with the write, or with the time", async () => {
  const scope = openScope();
  await setState(scope, { key: "k", value: 1 });
  const waiting = waitForState(scope, "k", 1, 30_000);
  await setState(scope, { key: "k", value: 2 });
  expect(await waiting).toMatchObject({ hasHappened: true, entry: { value: 2 } });
  const late = waitForState(scope, "k", 2, 1_000);
  await passTime(scope.clock, 1_500);
  expect(await late).toMatchObject({ hasHappened: false, entry: { version: 2 } });
});

test("several keys change at one revision or not at all, and every conflict is named", async () => {
  const scope = openScope();
  await setState(scope, { key: "a", value: 1 });
  const writes = [
    { op: "set", key: "a", value: 2 },
    { op: "set", key: "b", value: 2 },
    { op: "delete", key: "c" },
  ] as const;
  const refused = await commitState(scope, {
    writes,
    expected: [
      { key: "a", version: 9 },
      { key: "b", version: 1 },
    ],
    guards: [],
  });
  expect(refused).toMatchObject({
    ok: false,
    conflicts: [
      { key: "a", actualVersion: 1 },
      { key: "b", actualVersion: 0 },
    ],
  });
  expect(await readState(scope, "b")).toBeUndefined();
  expect(
    await commitState(scope, {
      writes,
      expected: [
        { key: "a", version: 1 },
        { key: "b", version: 0 },
      ],
      guards: [],
    }),
  ).toMatchObject({ ok: true, revision: 2 });
});

test("a conflict too large to be remembered is still answered under a request key", async () => {
  const scope = openScope();
  await setState(scope, { key: "k", value: "x".repeat(900_000) });
  const asked = { ...scope, request: { key: "r", fingerprint: "f" } };
  expect(await setState(asked, { key: "k", value: 1, expectedVersion: 7 })).toMatchObject({ ok: false, actualVersion: 1 });
});
