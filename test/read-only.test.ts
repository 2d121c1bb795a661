import { join } from "node:path";
import { expect, test } from "vitest";
import { openRuntime } from "../src/compose.ts";
import { readConfig } from "../src/config.ts";
import { everything } from "../src/store/ranges.ts";
import { holdTime } from "./support/held-time.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const severalSweepsMs = 5_000;

test("a server that is read-only does not sweep either: the log stays as it was found", async () => {
  const time = holdTime("setTimeout");
  const store = `sqlite:${join(await temporaryFolder(), "store.db")}`;
  const rowsOf = async ({ base }: Awaited<ReturnType<typeof openRuntime>>): Promise<unknown[]> =>
    (await base.store.log({ ranges: [everything] })).rows.map(({ key, op }) => `${op} ${key}`);
  {
    await using runtime = await openRuntime(readConfig({ store }, {}), { stays: false, log: () => {} });
    await runtime.base.store.commit({ writer: "tester", writes: [{ op: "put", key: "state/k", value: 1, ttlMs: 1 }] });
  }
  {
    await using runtime = await openRuntime(readConfig({ store, "read-only": true }, {}), { stays: true, log: () => {} });
    await time.pass(severalSweepsMs);
    expect(await rowsOf(runtime)).toEqual(["put state/k"]);
  }
  await using runtime = await openRuntime(readConfig({ store }, {}), { stays: true, log: () => {} });
  await time.pass(severalSweepsMs);
  expect(await rowsOf(runtime)).toEqual(["put state/k", "expire state/k"]);
});
