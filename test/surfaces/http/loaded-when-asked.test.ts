import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";

/** Everything that is loaded together with a file, of a bundle split as the package's is. */
async function loadedWith(...files: readonly string[]): Promise<ReadonlySet<string>> {
  const { metafile } = await build({
    absWorkingDir: fileURLToPath(new URL("../../../", import.meta.url)),
    entryPoints: ["src/main.ts"],
    outdir: "build/never-written",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    packages: "external",
    loader: { ".lua": "text" },
    metafile: true,
    write: false,
    logLevel: "error",
  });
  const loaded = new Set<string>();
  const queue = files.map((file) => Object.keys(metafile.outputs).find((output) => file in (metafile.outputs[output]?.inputs ?? {})) as string);
  const seen = new Set<string>();
  for (let output = queue.pop(); output !== undefined; output = queue.pop()) {
    if (seen.has(output)) continue;
    seen.add(output);
    for (const input of Object.keys(metafile.outputs[output]?.inputs ?? {})) loaded.add(input);
    for (const { path, kind, external } of metafile.outputs[output]?.imports ?? []) {
      if (external === true) loaded.add(path);
      else if (kind === "import-statement") queue.push(path);
    }
  }
  return loaded;
}

const isServing = (file: string): boolean => /^src\/(surfaces\/(http|mcp\/http|dashboard)|telemetry)\/|^(node:)?http$|^jose/.test(file);

test("what a stdio server loads has nothing of serving in it, and serving has", async () => {
  const stdio = await loadedWith("src/main.ts", "src/compose.ts", "src/surfaces/mcp/serve-stdio.ts", "src/engines/sqlite/sqlite-engine.ts");
  expect(stdio).toContain("src/tools/run-tool.ts");
  expect([...stdio].filter(isServing)).toEqual([]);
  expect([...(await loadedWith("src/compose-serving.ts"))].filter(isServing)).toContain("src/surfaces/http/http-server.ts");
});
