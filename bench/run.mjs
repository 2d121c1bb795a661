// `npm run bench`: bundles the benches and the product from src/, then runs them. Arguments are passed on; `--help` lists them.
import { spawn, spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const out = join(root, "build", "bench");
const product = join(out, "product");

// The bundler of the package builds the product, so that the figures are those of the shipped code, never of a stale dist/.
const built = spawnSync(process.execPath, [join(root, "scripts", "build.mjs"), "--out", product, "--entry", join(root, "src", "main.ts")], { stdio: "inherit" });
if (built.status !== 0) process.exit(1);

// The floor's server is bundled and minified like the product: a floor that starts slower would flatter the ratios.
const options = {
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  external: ["@photostructure/sqlite", "pg", "ioredis"],
  loader: { ".lua": "text" },
  outExtension: { ".js": ".mjs" },
  outdir: out,
  logLevel: "warning",
};
await build({ ...options, entryPoints: ["bench/main.ts"], sourcemap: "inline" });
await build({ ...options, entryPoints: ["bench/echo-server.ts", "bench/http-echo-server.ts", "bench/commit-server.ts"], minify: true });

// The same engine twice, split as in the product; the floor's copy neither computes nor compares checksums.
const sumless = {
  name: "without-sums",
  setup(bundler) {
    const replacement = join(root, "bench", "without-sums.ts");
    bundler.onResolve({ filter: /\/record-sum\.ts$/ }, ({ importer }) => (importer === replacement ? undefined : { path: replacement }));
  },
};
const engineOptions = { ...options, entryPoints: ["bench/sum-workload.ts"], splitting: true, minify: true };
await build({ ...engineOptions, outdir: join(out, "with-sums") });
await build({ ...engineOptions, outdir: join(out, "without-sums"), plugins: [sumless] });

const child = spawn(process.execPath, [join(out, "main.mjs"), ...process.argv.slice(2)], { stdio: "inherit" });
child.on("exit", (code, signal) => process.exit(signal === null ? (code ?? 1) : 1));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => child.kill(signal));
