import { expect, test } from "vitest";
import { everything } from "../../../src/store/ranges.ts";
import type { Check } from "../../../src/store/store.ts";
import type { OpenEngine } from "./fixture.ts";
import { commit, commitOf, del, openFixture, put, refusalOf } from "./fixture.ts";

export function checkCases(open: OpenEngine): void {
  test("a check on the version, the revision, presence or absence holds exactly when it is true", async () => {
    const { store, clock } = await openFixture(open);
    await commit(store, [put("live"), put("gone"), put("lapsed", 1, { ttlMs: 10 })]);
    await commit(store, put("live"));
    await commit(store, del("gone"));
    clock.advance(10);
    const truths: [Check, boolean][] = [
      [{ key: "live", version: 2 }, true],
      [{ key: "live", version: 1 }, false],
      [{ key: "live", version: 3 }, false],
      [{ key: "live", version: 0 }, false],
      [{ key: "live", revision: 2 }, true],
      [{ key: "live", revision: 1 }, false],
      [{ key: "live", revision: 3 }, false],
      [{ key: "live", is: "present" }, true],
      [{ key: "live", is: "absent" }, false],
      ...["gone", "lapsed", "never"].flatMap((key): [Check, boolean][] => [
        [{ key, version: 0 }, true],
        [{ key, version: 1 }, false],
        [{ key, revision: 1 }, false],
        [{ key, revision: 0 }, false],
        [{ key, is: "absent" }, true],
        [{ key, is: "present" }, false],
      ]),
    ];
    for (const [check, truth] of truths) {
      const result = await store.commit(commitOf([], { checks: [check] }));
      expect([check, result.ok]).toEqual([check, truth]);
    }
  });

  test("a refusal changes nothing and gives the failed checks, in order, each with the live entry that broke it, without its value", async () => {
    const { store, clock } = await openFixture(open);
    await commit(store, [put("a", { deep: [1] }), put("b", 2)], { writer: "ann" });
    const before = await store.read(everything);
    clock.advance(3);
    const checks: Check[] = [
      { key: "b", version: 7 },
      { key: "a", is: "present" },
      { key: "missing", is: "present" },
      { key: "a", is: "absent" },
    ];
    const [a, b] = before.entries.map((entry) => ({ ...entry, value: null }));
    expect(await refusalOf(store, checks)).toEqual({
      ok: false,
      reason: "checks",
      revision: 1,
      atMs: clock.nowMs(),
      failed: [{ check: checks[0], entry: b }, { check: checks[2] }, { check: checks[3], entry: a }],
    });
    expect(await store.read(everything)).toEqual({ ...before, nowMs: clock.nowMs() });
  });

  test("an expired entry breaks a check as an absent one: no entry comes back", async () => {
    const { store, clock } = await openFixture(open);
    await commit(store, put("a", 1, { ttlMs: 10 }));
    clock.advance(10);
    expect(await refusalOf(store, [{ key: "a", version: 1 }])).toMatchObject({ ok: false, failed: [{ check: { key: "a", version: 1 } }] });
    const result = await refusalOf(store, [{ key: "a", is: "present" }]);
    expect(result.ok === false && result.reason === "checks" && result.failed[0]?.entry).toBeUndefined();
    expect(await store.read(everything)).toMatchObject({ revision: 1 });
  });

  test("checks may name keys that the commit does not write, and keys that it does", async () => {
    const { store } = await openFixture(open);
    await commit(store, put("guard"));
    const checks: Check[] = [
      { key: "guard", revision: 1 },
      { key: "a", is: "absent" },
    ];
    expect(await store.commit(commitOf(put("a"), { checks }))).toMatchObject({ ok: true, revision: 2 });
    expect(await store.commit(commitOf(put("a"), { checks }))).toMatchObject({ ok: false, failed: [{ check: { key: "a" } }] });
  });

  test("of many racing writers of one version exactly one wins (G3)", async () => {
    const { store } = await openFixture(open);
    for (let version = 0; version < 20; version += 1) {
      const racers = Array.from({ length: 16 }, (_, i) => store.commit(commitOf(put("a", i), { checks: [{ key: "a", version }] })));
      const results = await Promise.all(racers);
      expect(results.filter((result) => result.ok)).toHaveLength(1);
      const winner = results.findIndex((result) => result.ok);
      for (const result of results) if (!result.ok) expect(result).toMatchObject({ reason: "checks", failed: [{ entry: { version: version + 1, value: null } }] });
      expect((await store.read(everything)).entries[0]?.value).toBe(winner);
    }
  });
}
