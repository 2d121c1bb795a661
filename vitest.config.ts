import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Suites that start their own processes compete for the same cores: file parallelism would only make their timings worse.
    pool: "forks",
    maxWorkers: 2,
    // What must be quick says so itself. These only end what hangs, and a busy machine is not to be taken for that.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000, interval: 20 } },
    globalSetup: ["test/support/worker-build.ts", "test/support/servers/shared-servers.ts"],
    sequence: { hooks: "list" },
  },
});
