import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Suites that start their own processes compete for the same cores: file parallelism would only make their timings worse.
    pool: "forks",
    maxWorkers: 2,
    // Guards against what never ends, not against a machine that is slow today.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    globalSetup: ["test/support/worker-build.ts", "test/support/servers/shared-servers.ts"],
    sequence: { hooks: "list" },
  },
});
