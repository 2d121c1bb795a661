import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Suites that start their own processes compete for the same cores: file parallelism would only make their timings worse.
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    globalSetup: ["test/support/worker-build.ts", "test/support/servers/shared-servers.ts"],
    sequence: { hooks: "list" },
  },
});
