import { join } from "node:path";
import { expect, test } from "vitest";
import { openConnection } from "../../src/engines/sqlite/connection.ts";
import { loadSqliteDriver } from "../../src/engines/sqlite/driver.ts";
import { namespaceIdMax } from "../../src/engines/sqlite/log-id.ts";
import { openSqliteEngine } from "../../src/engines/sqlite/sqlite-engine.ts";
import { asideSum, namespaceSum } from "../../src/ledger/record-sum.ts";
import { prepareCommit } from "../../src/store/prepare-commit.ts";
import { everything } from "../../src/store/ranges.ts";
import { manualClock } from "../support/manual-clock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const put = () => prepareCommit({ writer: "tester", writes: [{ op: "put", key: "k", value: 1 }] });

test("the last namespace that a file has room for works like the first, and one more is refused", async () => {
  const path = join(await temporaryFolder(), "store.db");
  await (await openSqliteEngine({ path, clock: manualClock() }))[Symbol.asyncDispose]();
  // All the others, without the time it takes to make each.
  const connection = openConnection({ driver: await loadSqliteDriver(), path, backUp: () => {} });
  const id = namespaceIdMax - 1;
  connection.statement("INSERT INTO namespace VALUES (?, 'before', 0, 0, 0, 0, NULL, ?, ?)").run(id, namespaceSum(id, "before", 0, 0, 0, 0), asideSum(id, null));
  connection.close();
  await using engine = await openSqliteEngine({ path, clock: manualClock() });
  for (const revision of [1, 2]) expect(await engine.commit("last", [put()])).toMatchObject([{ revision }]);
  expect((await engine.log("last", { ranges: [everything] })).rows).toHaveLength(2);
  expect(await engine.namespaces()).toContain("last");
  await expect(engine.commit("one more", [put()])).rejects.toMatchObject({ code: "limit_exceeded" });
});
