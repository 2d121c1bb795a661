import { expect, test } from "vitest";
import { measureMigration } from "../../bench/migrate.ts";
import { scaled } from "../support/scale.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** `npm run bench -- --migrate` does the same with 100,000 entries. */
const entries = scaled(10_000, 500);

test(`a store of ${entries} entries with its whole history goes through every engine and is equal in the end`, async () => {
  const figures = await measureMigration({ folder: await temporaryFolder(), progress: () => {} }, { entries });
  expect(figures).toHaveLength(6);
  console.log(figures.map(({ what, value, unit }) => `${what}: ${Math.round(value.median)} ${unit}`).join("\n"));
});
