import { defineConfig } from "vitest/config";
import shared from "./vitest.config.ts";

/**
 * What depends on the SQLite driver, again under Node 24, where `node:sqlite` is the driver:
 * `node scripts/test-services/node24.mjs node_modules/vitest/vitest.mjs run --config vitest.node24.config.ts`.
 */
export default defineConfig({
  test: {
    ...shared.test,
    include: ["test/store/sqlite*.test.ts", "test/store/concurrency/*.test.ts", "test/crash/*.test.ts"],
    // That the campaigns catch what was planted has nothing to do with the driver.
    exclude: ["**/planted.test.ts"],
    env: { HOLDFAST_TEST_ENGINES: "SQLite" },
  },
});
