import { join } from "node:path";
import { expect, test } from "vitest";
import { openSqliteEngine } from "../../src/engines/sqlite/sqlite-engine.ts";
import { expectedDriver } from "../support/sqlite-driver.ts";
import { describeStore } from "./conformance/describe-store.ts";
import type { OpenEngine } from "./conformance/fixture.ts";
import { namespace, openFixture } from "./conformance/fixture.ts";
import { describeHistories } from "./histories.ts";

const open: OpenEngine = (clock, folder) => openSqliteEngine({ path: join(folder, "store.db"), clock });

describeStore("sqlite", open, { durable: true });
// Many more, and others each time, in histories.campaign.ts.
describeHistories("sqlite", open, 60);

test("all of this ran on the driver that this Node should give", async () => {
  const { engine } = await openFixture(open);
  expect((await engine.health(namespace)).facts).toMatchObject({ driver: expectedDriver() });
});
