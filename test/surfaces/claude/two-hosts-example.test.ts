import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, onTestFinished, test } from "vitest";
import { HoldfastSessionStore } from "../../../src/claude.ts";
import { connectHoldfast } from "../../../src/index.ts";
import { startHttpServer } from "../../support/http-server.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** The example as it stands, with this source in the place of the package and a stand-in for the SDK. */
async function bundledExample(): Promise<string> {
  const file = join(await temporaryFolder(), "example.mjs");
  const alias = {
    "@anthropic-ai/claude-agent-sdk": join(root, "test/support/claude-query.ts"),
    "holdfast/claude": join(root, "src/claude.ts"),
    "holdfast/client": join(root, "src/client.ts"),
  };
  await build({
    entryPoints: [join(root, "examples/claude-two-hosts.ts")],
    outfile: file,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    alias,
    logLevel: "silent",
  });
  return file;
}

test("the example for two hosts continues a session elsewhere, and reports who is at work on a live one", async () => {
  await using server = await startHttpServer();
  const file = await bundledExample();
  const start = (...args: readonly string[]) => {
    const child = spawn(process.execPath, [file, server.url, ...args], { stdio: ["pipe", "pipe", "pipe"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    const output = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const)
      child[name].setEncoding("utf8").on("data", (text: string) => {
        output[name] += text;
      });
    return { child, output, ended: once(child, "close").then(([code]) => ({ code, ...output })) };
  };
  const first = start("wait");
  const sessionId = () => /waiting: session (\S+)/.exec(first.output.stdout)?.[1] ?? "";
  await expect.poll(sessionId).not.toBe("");
  expect(await start("Go on.", sessionId()).ended).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(/is in use by .+; nothing was changed\.\n$/) });
  first.child.stdin.end();
  expect(await first.ended).toMatchObject({ code: 0, stderr: "" });
  expect(await start("Go on.", sessionId()).ended).toEqual({ code: 0, stdout: `success: session ${sessionId()}\n`, stderr: "" });
  await using holdfast = await connectHoldfast(server.url);
  const loaded = await new HoldfastSessionStore(holdfast).reader.load({ projectKey: "-srv-app", sessionId: sessionId() });
  expect(loaded?.map(({ text }) => text)).toEqual(["wait", "after 0 entries", "Go on.", "after 2 entries"]);
});
