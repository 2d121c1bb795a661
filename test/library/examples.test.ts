import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, onTestFinished, test } from "vitest";
import { startProgram } from "../support/cli-process.ts";
import { startHttpServer } from "../support/http-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Whole programs of a page, with what each prints. */
const programsIn = (page: string): readonly { readonly code: string; readonly output: string }[] =>
  Array.from(readFileSync(join(root, page), "utf8").matchAll(/^```ts\n(import .*?)^```\n(?:\n```text\n(.*?)^```\n)?/gms), ([, code = "", output = ""]) => ({ code, output }));

/** As a user runs it, with this source in the place of the package. */
async function run(code: string, cwd: string): Promise<{ readonly stdout: string; readonly stderr: string }> {
  // Below the project, where the driver is found.
  const folder = mkdtempSync(join(root, "build", "example-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const alias = { "holdfast/client": join(root, "src/client.ts"), holdfast: join(root, "src/index.ts") };
  const options = { bundle: true, format: "esm", platform: "node", target: "node20", packages: "external", loader: { ".lua": "text" }, write: false, logLevel: "silent" } as const;
  const { outputFiles } = await build({ ...options, alias, stdin: { contents: code, loader: "ts", resolveDir: root } });
  const file = join(folder, "example.mjs");
  writeFileSync(file, outputFiles[0]?.text ?? "");
  const { stdout, stderr } = await startProgram(process.execPath, [file], { cwd, env: { PATH: process.env.PATH, HOME: cwd } }).finished;
  return { stdout, stderr };
}

test("the program of the page about workflows prints what it shows, and the second time its stored end", async () => {
  const [program] = programsIn("docs/workflows.md");
  const cwd = await temporaryFolder();
  expect(await run(program?.code ?? "", cwd)).toEqual({ stdout: program?.output, stderr: "" });
  expect((await run(program?.code ?? "", cwd)).stdout).toBe("done\n");
});

test("the programs of the library's page run as they stand there", async () => {
  const [embedded, remote] = programsIn("docs/library.md");
  const cwd = await temporaryFolder();
  expect((await run(embedded?.code ?? "", cwd)).stdout).toContain("Released v2");
  await using server = await startHttpServer({ flags: { auth: "token" } });
  const secret = await server.token({ namespaces: ["team"] });
  // The watch of the page goes on for ever; here it ends with what it waits for.
  const code = (remote?.code ?? "")
    .replace("http://127.0.0.1:8000", server.url)
    .replace("{ token,", `{ token: ${JSON.stringify(secret)},`)
    .replace('await holdfast.state.set("color", "blue");', 'setTimeout(() => holdfast.state.set("color", "blue"), 200);')
    .replace("console.log(change.key, change.value);", "{ console.log(change.key, change.value); break; }");
  expect(await run(code, cwd)).toEqual({ stdout: "color blue\n", stderr: "" });
});
