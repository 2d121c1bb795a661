import { expect, test } from "vitest";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { visibleFacts } from "../../src/tools/visible-facts.ts";
import { engines } from "../support/engines.ts";

test.each(engines)("the facts of one namespace do not change with others' work in theirs, on $name", async ({ freshUrl, openOnClock }) => {
  await using engine = await openOnClock(await freshUrl(), systemClock);
  const write = (namespace: string, i: number) =>
    openNamespaceStore(engine, namespace, systemClock).commit({ writer: "tester", writes: [{ op: "put", key: `state/${i}`, value: "x".repeat(50_000) }] });
  const facts = async () => (await engine.health("own")).facts;
  await write("own", 0);
  const before = await facts();
  for (let i = 0; i < 20; i += 1) await write("others", i);
  const after = await facts();
  expect(visibleFacts({ tellsOf: "namespace" }, after)).toEqual(visibleFacts({ tellsOf: "namespace" }, before));
  expect(visibleFacts({ tellsOf: "namespace" }, after)).toMatchObject({ revision: 1, compacted_revision: 0 });
  for (const server of [{}, { tellsOf: "store" as const }]) expect(visibleFacts(server, after)).toEqual(after);
});
