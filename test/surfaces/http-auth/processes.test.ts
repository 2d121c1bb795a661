import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Finished, RunningProcess } from "../../support/cli-process.ts";
import { buildExecutable, startExecutable } from "../../support/cli-process.ts";
import { soon } from "../../support/soon.ts";

let built: Awaited<ReturnType<typeof buildExecutable>>;
beforeAll(async () => {
  built = await buildExecutable();
});
afterAll(() => built.remove());

const run = (args: readonly string[]): Promise<Finished> => startExecutable(built.main, args).finished;

async function serve(store: string, flags: readonly string[] = []) {
  const running: RunningProcess = startExecutable(built.main, ["serve", "--store", store, "--port", "0", "--json", "--log-level", "debug", ...flags]);
  onTestFinished(async () => {
    running.child.kill("SIGTERM");
    await running.finished;
  });
  const { url } = JSON.parse((await running.saw(/\n/)).split("\n")[0] as string) as { url: string };
  const status = async (token?: string): Promise<number> => (await fetch(`${url}/api/me`, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } })).status;
  return {
    url,
    status,
    /** Everything it printed, after it was stopped. */
    async stop(): Promise<Finished> {
      running.child.kill("SIGTERM");
      return running.finished;
    },
  };
}

describe("servers in processes of their own, on one store", () => {
  test("learn of a new token at once and of a revoked one soon, and none of them ever logs a secret", async () => {
    const store = `sqlite:${join(built.folder, "revoked.db")}`;
    const { stdout } = await run(["token", "create", "--name", "ci", "--role", "write", "--store", store, "--json"]);
    const { id, secret } = JSON.parse(stdout) as { id: string; secret: string };
    const servers = [await serve(store, ["--auth", "token"]), await serve(store, ["--auth", "token"])];
    for (const { status } of servers) expect([await status(), await status(secret)]).toEqual([401, 200]);
    const wrong = `hf_${randomBytes(32).toString("base64url")}`;
    const places = ["/mcp?token=", "/api/me?access_token=", "/api/ns/default/keys?authorization=Bearer%20"];
    for (const { url, status } of servers) {
      expect(await status(wrong)).toBe(401);
      for (const place of places) expect((await fetch(`${url}${place}${secret}`)).status).toBe(401);
      expect((await fetch(`${url}/api/me`, { headers: { cookie: `token=${secret}` } })).status).toBe(401);
      expect((await fetch(`${url}/ns/${secret}/mcp`, { method: "POST", headers: { authorization: `Bearer ${secret}` } })).status).toBe(403);
    }
    // In use up to the last moment.
    for (const { status } of servers) expect(await status(secret)).toBe(200);
    expect((await run(["token", "revoke", id.slice(0, 8), "--yes", "--store", store])).code).toBe(0);
    // Within how many seconds, credentials.test.ts shows on a clock of its own; here each learns of what another process has done.
    for (const { status } of servers) await soon(async () => expect(await status(secret)).toBe(401));
    for (const { stop } of servers) {
      const { code, stdout: out, stderr } = await stop();
      expect(code).toBe(0);
      expect(stderr.split("\n").filter((line) => line !== "").length).toBeGreaterThan(0);
      for (const text of [secret, secret.slice(3), wrong, wrong.slice(3)]) expect(out + stderr).not.toContain(text);
      for (const line of stderr.trimEnd().split("\n")) expect(() => JSON.parse(line)).not.toThrow();
    }
  });

  test("do not start on a wider address before there is a token, say which command makes one, and start when it was run", async () => {
    const store = `sqlite:${join(built.folder, "wider.db")}`;
    for (const host of ["0.0.0.0", "::"]) {
      const { code, stdout, stderr } = await run(["serve", "--host", host, "--port", "0", "--store", store]);
      expect([host, code, stdout]).toEqual([host, 2, ""]);
      expect(stderr).toContain("holdfast token create --name");
    }
    // An empty setting is none.
    const { code } = await startExecutable(built.main, ["serve", "--host", "0.0.0.0", "--port", "0", "--store", store], { env: { ...process.env, HOLDFAST_JWT_ISSUER: "" } })
      .finished;
    expect(code).toBe(2);
    const created = await run(["token", "create", "--name", "ci", "--role", "read", "--store", store, "--expires", "90d"]);
    // On a clock that goes on meanwhile.
    expect(created.stderr).toContain(" (in 90d)");
    const server = await serve(store, ["--host", "0.0.0.0"]);
    const { hostname, port } = new URL(server.url);
    // An address to give to somebody, and not the one that stands for all.
    expect([hostname, await server.status(created.stdout.trim())]).toEqual([expect.stringMatching(/^(?!0\.0\.0\.0$)[\d.]+$/), 200]);
    const status = async (headers: Record<string, string>): Promise<number> => (await fetch(`http://127.0.0.1:${port}/api/me`, { headers })).status;
    // Nobody is the operator there, wherever he sits.
    expect([await status({}), await status({ authorization: `Bearer ${created.stdout.trim()}` })]).toEqual([401, 200]);
    const { child, saw, finished } = startExecutable(built.main, ["serve", "--host", "0.0.0.0", "--port", "0", "--store", store]);
    expect(await saw(/\n/)).toMatch(/^Dashboard http:\/\/(?!0\.0)[\d.]+:(\d+)\/ {2}MCP .* {2}\(listening on every address, port \1; callers need a token/);
    child.kill("SIGTERM");
    expect((await finished).code).toBe(0);
  });
});
