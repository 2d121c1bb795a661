import { join } from "node:path";
import { expect, test } from "vitest";
import { openSqliteEngine } from "../../src/engines/sqlite/sqlite-engine.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const terms = Array.from({ length: 40 }, (_, i) => `t${i}`);

test("a search of many terms pauses between them, lets others write meanwhile, and finds the same", async () => {
  await using engine = await openSqliteEngine({ path: join(await temporaryFolder(), "store.db") });
  const store = openNamespaceStore(engine, "test", systemClock);
  const put = (key: string) =>
    store.commit({ writer: "w", writes: [{ op: "put", key, value: key, index: { area: "a", length: 40, terms: terms.map((term) => [term, 100] as const) } }] });
  // More than one term's candidates, so that the others are looked up among them.
  for (let i = 0; i < 60; i += 1) await put(`n/${i}`);
  const query = { areas: ["a"], terms };
  const whole = await store.search(query);
  let pauses = 0;
  const sliced = await store.search({
    ...query,
    pause: () => {
      pauses += 1;
      return new Promise((resolve) => setImmediate(resolve));
    },
  });
  expect(pauses).toBeGreaterThan(5);
  expect(sliced).toEqual(whole);
  const meanwhile = await store.search({
    ...query,
    pause: () => {
      pauses += 1;
      return store.commit({ writer: "w", writes: [{ op: "delete", key: "n/7" }] }).then(() => {});
    },
  });
  expect(meanwhile.hits.map(({ key }) => key).sort()).toEqual(
    whole.hits
      .map(({ key }) => key)
      .filter((key) => key !== "n/7")
      .sort(),
  );
});
