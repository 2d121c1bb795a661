// `npm run bench:recall`: bundles the bench with the product from src/, then runs it. Arguments are passed on; `--help` lists them.
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const outfile = join(root, "build", "bench-recall", "main.mjs");
await build({
  absWorkingDir: root,
  entryPoints: ["bench/recall/main.ts"],
  outfile,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  external: ["@photostructure/sqlite", "pg", "ioredis", "@modelcontextprotocol/client"],
  loader: { ".lua": "text" },
  sourcemap: "inline",
  logLevel: "warning",
});
const { status } = spawnSync(process.execPath, [outfile, ...process.argv.slice(2)], { cwd: root, stdio: "inherit" });
process.exit(status ?? 1);
