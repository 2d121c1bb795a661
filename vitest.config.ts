import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/longest-first.ts";
import { moduleCache } from "./test/support/module-cache.ts";

/** `--sequence.shuffle` asks for a random order, which Vitest gives only where no other order is named. */
const isShuffled = process.argv.some((argument) => argument.startsWith("--sequence.shuffle"));

export default defineConfig({
  // Scripts for Redis are imported as text, as the bundler does it.
  plugins: [{ name: "lua-text", transform: (code, id) => (id.endsWith(".lua") ? { code: `export default ${JSON.stringify(code)};`, map: null } : undefined) }],
  test: {
    include: ["test/**/*.test.ts"],
    pool: "forks",
    // More than two cores can use: tests wait for disks, servers and processes half of the time.
    maxWorkers: 3,
    // Files share a process, and with it every module that was loaded: loading them again for each file took a third of the time.
    isolate: false,
    // Transformed once for all runs, until the file changes: half of what a run spends before its first test.
    experimental: { fsModuleCache: true, fsModuleCachePath: moduleCache("vitest-modules") },
    // No test is judged by how long it took: scripts/test ends a run in which nothing happens any more, and names the test that was running.
    testTimeout: 0,
    hookTimeout: 0,
    expect: { poll: { timeout: 120_000, interval: 20 } },
    globalSetup: ["test/support/run-folder.ts", "test/support/worker-build.ts", "test/support/shared-builds.ts", "test/support/servers/shared-servers.ts"],
    sequence: { hooks: "list", ...(isShuffled ? {} : { sequencer: LongestFirst }) },
  },
});
