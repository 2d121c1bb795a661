import { expect, test } from "vitest";
import { openEngine } from "../../src/engines/open-store.ts";
import { prepareCommit } from "../../src/store/prepare-commit.ts";
import type { Engine } from "../../src/store/store.ts";
import { checkNamespace } from "../../src/transfer/stores/check-namespace.ts";
import { engines } from "../support/engines.ts";
import { override } from "../support/faulty-engine.ts";

const namespace = "checked";

async function fill(engine: Engine): Promise<void> {
  for (let i = 0; i < 12; i += 1)
    await engine.commit(namespace, [
      prepareCommit({
        writer: "w",
        request: { key: `r${i}`, fingerprint: "f", note: i },
        writes: i === 7 ? [{ op: "delete", key: "k1" }] : [{ op: "put", key: `k${i % 4}`, value: i, ttlMs: i === 6 ? 1 : undefined }],
      }),
    ]);
}

test.each(engines)("a whole namespace passes, and what is missing or different is named, on $name", async ({ freshUrl }) => {
  await using engine = await openEngine(await freshUrl());
  await fill(engine);
  let records = 0;
  expect(
    await checkNamespace(engine, namespace, (count) => {
      records += count;
    }),
  ).toEqual([]);
  expect(records).toBeGreaterThanOrEqual(12 + 4 + 12);

  const withoutRow = override(engine, {
    dump: async (name, query) => {
      const page = await engine.dump(name, query);
      return { ...page, records: page.records.filter((record) => record.kind !== "log" || record.revision !== 5) };
    },
  });
  expect(await checkNamespace(withoutRow, namespace)).toEqual([expect.stringContaining("revision 6 in the log")]);

  const withOtherValue = override(engine, {
    read: async (name, ranges, options) => {
      const snapshot = await engine.read(name, ranges, options);
      return { ...snapshot, entries: snapshot.entries.map((entry) => (entry.key === "k3" ? { ...entry, value: "other" } : entry)) };
    },
  });
  expect(await checkNamespace(withOtherValue, namespace)).toEqual(['key "k3"']);

  const withoutEntry = override(engine, {
    read: async (name, ranges, options) => {
      const snapshot = await engine.read(name, ranges, options);
      return { ...snapshot, entries: snapshot.entries.filter(({ key }) => key !== "k0") };
    },
  });
  expect(await checkNamespace(withoutEntry, namespace)).toEqual(['key "k0"']);
});
