import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Finished } from "../../support/cli-process.ts";
import { buildExecutable, startExecutable } from "../../support/cli-process.ts";
import { startHttpProcess } from "../../support/http-process.ts";
import type { Era } from "../../support/mcp-connection.ts";
import { eras } from "../../support/mcp-connection.ts";
import { freePort } from "../../support/servers/free-port.ts";
import { loopbackCertificate } from "../../support/servers/loopback-certificate.ts";
import { until } from "../../support/soon.ts";

let built: Awaited<ReturnType<typeof buildExecutable>>;
let store: string;
let token: string;
/** Begun first and looked at last: it takes the seconds for which a server is waited for when nobody asks any more. */
let askedInVain: Promise<Finished>;
beforeAll(async () => {
  built = await buildExecutable();
  store = `sqlite:${join(built.folder, "store.db")}`;
  const { stdout } = await startExecutable(built.main, ["token", "create", "--name", "ci", "--role", "write", "--namespace", "default", "--store", store, "--json"], { env })
    .finished;
  token = JSON.parse(stdout).secret;
  const { child, finished } = startExecutable(built.main, ["connect", `http://127.0.0.1:${await freePort()}`], { env, stdio: ["pipe", "pipe", "pipe"] });
  child.stdin?.end('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n');
  askedInVain = finished;
});
afterAll(() => built?.remove());

const env = { PATH: process.env.PATH, HOME: "/nonexistent" };
const serve = (port: number) => startHttpProcess(built.main, ["--port", String(port), "--auth", "token", "--store", store]);

/** The official client, with the bridge as the program it starts. */
async function connect(era: Era, url: string, extra: Readonly<Record<string, string>> = { HOLDFAST_TOKEN: token }, args: readonly string[] = []) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [built.main, "connect", url, ...args],
    env: { ...env, ...extra } as Record<string, string>,
    stderr: "pipe",
  });
  let stderr = "";
  transport.stderr?.on("data", (text: Buffer) => (stderr += text));
  const client = new Client({ name: "bridged", version: "1" }, { versionNegotiation: { mode: era === "handshake" ? "legacy" : { pin: "2026-07-28" } } });
  await client.connect(transport);
  return { client, pid: transport.pid as number, errors: () => stderr, [Symbol.asyncDispose]: () => client.close() };
}

describe.each(eras)("holdfast connect, started by the official client, in the %s era", (era) => {
  test("works, and continues after a kill -9 and a restart of the server", async () => {
    const port = await freePort();
    await using first = await serve(port);
    await using bridged = await connect(era, first.url);
    const { client } = bridged;
    const told: string[] = [];
    client.setNotificationHandler("notifications/resources/updated", ({ params }) => void told.push(params.uri));
    const uri = `holdfast://state/${era}`;
    if (era === "stateless") await client.listen({ resourceSubscriptions: [uri] });
    else await client.subscribeResource({ uri });
    const set = (value: number) => client.callTool({ name: "state_set", arguments: { key: era, value }, _meta: { "holdfast/request-key": `${era}-${value}` } });
    const heard = (): Promise<void> => until(() => told.length > 0);
    expect((await set(1)).structuredContent).toMatchObject({ ok: true, version: 1 });
    await heard();
    await first.stop("SIGKILL");
    told.length = 0;
    const waiting = set(2);
    await using _second = await serve(port);
    expect((await waiting).structuredContent).toMatchObject({ ok: true, version: 2 });
    // Told again by the other server: what it subscribed to was not forgotten.
    await heard();
    expect((await client.callTool({ name: "state_get", arguments: { key: era } })).structuredContent).toMatchObject({ value: 2, version: 2, updated_by: "ci" });
    expect((await readFile(`/proc/${bridged.pid}/cmdline`, "utf8").catch(() => "")).includes(token)).toBe(false);
  });

  test("reaches a server behind TLS, whose authority is named as Node's users name it, with a token out of a file", async () => {
    await using server = await serve(await freePort());
    const { certFile, keyFile } = await loopbackCertificate();
    const proxy = createServer({ cert: await readFile(certFile), key: await readFile(keyFile) }, (incoming, outgoing) => {
      const onward = request(
        { host: "127.0.0.1", port: server.port, method: incoming.method, path: incoming.url, headers: { ...incoming.headers, host: `127.0.0.1:${server.port}` } },
        (answer) => {
          outgoing.writeHead(answer.statusCode as number, answer.headers);
          answer.pipe(outgoing);
        },
      );
      onward.on("error", () => outgoing.destroy());
      incoming.pipe(onward);
    }).listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const file = join(built.folder, `token-${era}`);
    await writeFile(file, `${token}\n`, { mode: 0o600 });
    const url = `https://localhost:${(proxy.address() as AddressInfo).port}/ns/default/mcp`;
    await using bridged = await connect(era, url, { NODE_EXTRA_CA_CERTS: certFile }, ["--token-file", file]);
    expect((await bridged.client.callTool({ name: "state_set", arguments: { key: "tls", value: era } })).structuredContent).toMatchObject({ ok: true });
    expect(bridged.errors()).toBe("");
    proxy.closeAllConnections();
    proxy.close();
  });
});

describe("holdfast connect", () => {
  const run = (args: readonly string[], extra: Readonly<Record<string, string>> = {}) => startExecutable(built.main, ["connect", ...args], { env: { ...env, ...extra } }).finished;

  test.each([
    ["no address", []],
    ["two addresses", ["http://a", "http://b"]],
    ["an address that is none", ["nonsense"]],
    ["a token in the address", ["http://user:hunter2@127.0.0.1:1"]],
    ["a token file that is not there", ["http://127.0.0.1:1", "--token-file", "/nonexistent/token"], '--token-file: there is no file "/nonexistent/token"'],
    ["a token file that is a folder", ["http://127.0.0.1:1", "--token-file", "/"], '--token-file: "/" cannot be read (EISDIR)'],
  ])("given %s says what is wrong and exits with 2", async (_what, args, problem = "") => {
    const { code, stdout, stderr } = await run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).not.toContain("hunter2");
    expect(stderr.length).toBeGreaterThan(10);
    expect(stderr).toContain(problem);
  });

  test("given a token that cannot be one says so without repeating it", async () => {
    const { code, stderr } = await run(["http://127.0.0.1:1"], { HOLDFAST_TOKEN: "hunter2 hunter2" });
    expect(code).toBe(2);
    expect(stderr).toMatch(/HOLDFAST_TOKEN: must be one token/);
    expect(stderr).not.toContain("hunter2");
  });

  test.each(["SIGTERM", "SIGINT"] as const)("ends in good order with %s, and so when its input does", async (signal) => {
    const { child, finished } = startExecutable(built.main, ["connect", `http://127.0.0.1:${await freePort()}`], { env, stdio: ["pipe", "pipe", "pipe"] });
    child.stdin?.write("no message\n");
    await once(child.stdout as NodeJS.ReadableStream, "data");
    child.kill(signal);
    expect(await finished).toMatchObject({ code: 0, signal: null });
    const other = startExecutable(built.main, ["connect", "http://127.0.0.1:1"], { env });
    expect(await other.finished).toMatchObject({ code: 0, stdout: "", stderr: "" });
  });

  test("whose input ends while no server answers reports that to every open request, and exits with 6", async () => {
    const { code, stdout } = await askedInVain;
    expect(code).toBe(6);
    expect(JSON.parse(stdout)).toMatchObject({ id: 1, error: { message: expect.stringContaining("cannot be reached"), data: { code: "unavailable" } } });
  });

  test("is described to people", async () => {
    expect((await run(["--help"])).stdout).toContain("holdfast connect <url>");
  });
});
