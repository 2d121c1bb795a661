import { defineConfig } from "vitest/config";
import { moduleCache } from "./test/support/module-cache.ts";
import shared from "./vitest.config.ts";

/** What depends on the SQLite driver, again under Node 24, where `node:sqlite` is the driver. `npm test` runs it, and `npm run test:campaigns` the campaigns that do. */
export default defineConfig({
  plugins: shared.plugins,
  test: {
    ...shared.test,
    include: ["test/store/sqlite*.test.ts"],
    env: { HOLDFAST_TEST_ENGINES: "SQLite" },
    // A folder of its own, because it starts together with the other run.
    experimental: { fsModuleCache: true, fsModuleCachePath: moduleCache("vitest-modules-node24") },
  },
});
