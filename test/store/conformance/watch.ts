import { expect, test } from "vitest";
import { limits } from "../../../src/store/limits.ts";
import { everything, prefixRange } from "../../../src/store/ranges.ts";
import type { Change, Range, Revision, Store } from "../../../src/store/store.ts";
import type { OpenEngine } from "./fixture.ts";
import { abortedAtEnd, allRows, codeOf, commit, compactAll, del, namespace, openFixture, put, sweepAll } from "./fixture.ts";

export function watchCases(open: OpenEngine): void {
  test("every change after the revision comes, in order, each once, whole", async () => {
    const { store } = await openFixture(open);
    await commit(store, [put("a"), put("b")]);
    await commit(store, [put("a", 2), del("b")]);
    const watching = take(store, 4, 0);
    await commit(store, [put("c"), put("d"), put("e")]);
    await commit(store, put("a", 3));
    const changes = await watching;
    expect(changes.map((change) => change.revision)).toEqual([1, 2, 3, 4]);
    expect(changes.flatMap((change) => change.rows)).toEqual(await allRows(store));
    for (const change of changes) for (const row of change.rows) expect([row.revision, row.atMs]).toEqual([change.revision, change.atMs]);
  });

  test("it begins after the revision it is given and can continue from any revision it gave", async () => {
    const { store } = await openFixture(open);
    for (let i = 0; i < 10; i += 1) await commit(store, put(`k${i % 3}`, i));
    const first = await take(store, 4, 2);
    expect(first.map((change) => change.revision)).toEqual([3, 4, 5, 6]);
    const second = await take(store, 4, first.at(-1)?.revision ?? 0);
    expect(second.map((change) => change.revision)).toEqual([7, 8, 9, 10]);
  });

  test("only keys of the range are shown, and revisions without one are left out", async () => {
    const { store } = await openFixture(open);
    const watching = take(store, 2, 0, prefixRange("a"));
    await commit(store, [put("a1"), put("b1")]);
    await commit(store, put("b2"));
    await commit(store, [put("c"), put("a2")]);
    const changes = await watching;
    expect(changes.map((change) => [change.revision, change.rows.map((row) => row.key)])).toEqual([
      [1, ["a1"]],
      [3, ["a2"]],
    ]);
  });

  test("a watcher that waits is woken by a commit and by a sweep", async () => {
    const { store, engine, clock } = await openFixture(open);
    const controller = abortedAtEnd();
    const changes = store.watch(everything, 0, controller.signal)[Symbol.asyncIterator]();
    const first = changes.next();
    await commit(store, put("a", 1, { ttlMs: 5 }));
    expect((await first).value).toMatchObject({ revision: 1 });
    const second = changes.next();
    clock.advance(5);
    await sweepAll(engine);
    expect((await second).value).toMatchObject({ revision: 2, rows: [{ key: "a", op: "expire" }] });
  });

  test("a backlog longer than a page comes complete", async () => {
    const { store } = await openFixture(open);
    const rounds = Math.ceil((limits.logRowsMax * 2.5) / 100);
    for (let i = 0; i < rounds; i += 1)
      await commit(
        store,
        Array.from({ length: 100 }, (_, n) => put(`k${n}`, i)),
      );
    const changes = await take(store, rounds, 0);
    expect(changes.map((change) => change.revision)).toEqual(Array.from({ length: rounds }, (_, i) => i + 1));
    for (const change of changes) expect(change.rows).toHaveLength(100);
  });

  test("a slow watcher beside busy writers misses nothing", async () => {
    const { store } = await openFixture(open);
    const controller = abortedAtEnd();
    const seen: Revision[] = [];
    const watching = (async () => {
      for await (const change of store.watch(everything, 0, controller.signal)) {
        seen.push(change.revision);
        if (seen.length % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
        if (change.revision === 400) return;
      }
    })();
    await Promise.all(
      Array.from({ length: 4 }, async (_, w) => {
        for (let i = 0; i < 100; i += 1) await commit(store, put(`w${w}`, i));
      }),
    );
    await watching;
    expect(seen).toEqual(Array.from({ length: 400 }, (_, i) => i + 1));
  });

  test("it says compacted when it is asked to begin too far back, and begins where it still can", async () => {
    const { store, engine } = await openFixture(open);
    for (let i = 0; i < 6; i += 1) await commit(store, put("a", i));
    await compactAll(engine, { revisions: 2 });
    expect(await codeOf(take(store, 1, 3))).toBe("compacted");
    expect((await take(store, 2, 4)).map((change) => change.revision)).toEqual([5, 6]);
  });

  test("a watcher that falls behind a compaction gets an error instead of skipping", async () => {
    const { store, engine } = await openFixture(open);
    await commit(store, put("a"));
    const changes = store.watch(everything, 0, abortedAtEnd().signal)[Symbol.asyncIterator]();
    expect((await changes.next()).value).toMatchObject({ revision: 1 });
    for (let i = 0; i < 5; i += 1) await commit(store, put("a", i));
    await compactAll(engine, { revisions: 2 });
    expect(await codeOf(changes.next())).toBe("compacted");
  });

  test("it ends when the signal is aborted, before or while it waits", async () => {
    const { store } = await openFixture(open);
    const controller = abortedAtEnd();
    const watching = take(store, 1, 0, everything, controller);
    await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    expect(await watching).toEqual([]);
    expect(await take(store, 1, 0, everything, controller)).toEqual([]);
  });

  test("listeners are notified after a change and not after they unsubscribe", async () => {
    const { store, engine } = await openFixture(open);
    let notifications = 0;
    let notified = (): void => {};
    const next = (): Promise<void> => new Promise((resolve) => (notified = resolve));
    const stop = engine.onChange(namespace, () => {
      notifications += 1;
      notified();
    });
    const first = next();
    await commit(store, put("a"));
    await first;
    stop();
    const before = notifications;
    expect(before).toBeGreaterThan(0);
    await commit(store, put("a"));
    expect(notifications).toBe(before);
  });
}

/** The first `count` changes; fewer when the signal ends the watch. */
async function take(store: Store, count: number, after: Revision, range: Range = everything, controller = abortedAtEnd()): Promise<Change[]> {
  const changes: Change[] = [];
  for await (const change of store.watch(range, after, controller.signal)) {
    changes.push(change);
    if (changes.length === count) break;
  }
  return changes;
}
