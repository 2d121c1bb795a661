import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openCommandLine } from "../../support/cli-host.ts";
import { buildExecutable, startExecutable } from "../../support/cli-process.ts";
import { startHttpProcess } from "../../support/http-process.ts";
import { startHttpServer } from "../../support/http-server.ts";
import { askRaw, connectRaw, head } from "../../support/raw-http.ts";
import { soon } from "../../support/soon.ts";

const start = (flags: Record<string, string>) => startHttpServer({ flags: { store: "memory:", ...flags } });

describe("a server starts", () => {
  test("on loopback and on any free port that it names", async () => {
    await using server = await start({ port: "0" });
    expect(server.serving.address).toMatchObject({ address: "127.0.0.1", port: expect.any(Number) });
    expect(server.serving).toMatchObject({ url: `http://127.0.0.1:${server.port}`, mcpUrl: `http://127.0.0.1:${server.port}/mcp`, trustsOperator: true });
  });

  test.each(["::1", "[::1]"])("on the IPv6 address %s", async (host) => {
    await using server = await start({ host });
    expect(server.serving.url).toBe(`http://[::1]:${server.port}`);
    expect((await server.fetch("/api/me")).status).toBe(200);
  });

  test("under the name localhost", async () => {
    await using server = await start({ host: "localhost" });
    expect((await server.fetch("/api/me")).status).toBe(200);
  });

  test("behind its public address, which it then prints", async () => {
    await using server = await start({ "public-url": "https://holdfast.example.com/" });
    expect(server.serving).toMatchObject({ url: "https://holdfast.example.com", mcpUrl: "https://holdfast.example.com/mcp" });
  });

  test("behind a public address no caller is the operator: a proxy makes every caller local, and may not identify itself", async () => {
    await using published = await start({ "public-url": "https://holdfast.example.com" });
    expect((await published.fetch("/api/me")).status).toBe(401);
    await using named = await start({ "allowed-hosts": "holdfast.example.com" });
    expect((await named.fetch("/api/me")).status).toBe(401);
    await using own = await start({ "public-url": "http://localhost:8000" });
    expect((await own.fetch("/api/me")).status).toBe(200);
  });

  test("with a token required of every caller, even on this machine", async () => {
    await using server = await start({ auth: "token" });
    expect(server.serving.trustsOperator).toBe(false);
    expect((await server.fetch("/api/me")).status).toBe(401);
  });
});

describe("a server does not start", () => {
  test("where another program has the port, and says which", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void other.close());
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as { readonly port: number };
    await expect(start({ port: String(port) })).rejects.toMatchObject({
      code: "invalid_input",
      message: `--port: port ${port} of 127.0.0.1 is in use by another program`,
      hint: expect.stringContaining("--port 0"),
    });
  });

  test.each(["192.0.2.1", "2001:db8::1"])("on %s, which is not an address of this machine", async (host) => {
    const token = { flags: { host, "jwt-issuer": "https://issuer.example", "jwt-audience": "holdfast", store: "memory:" } };
    await expect(startHttpServer(token)).rejects.toMatchObject({ code: "invalid_input", message: `--host: ${host} is not an address of this machine` });
  });

  test("on a name that cannot be found", async () => {
    await expect(
      startHttpServer({ flags: { host: "nowhere.invalid", "jwt-issuer": "https://issuer.example", "jwt-audience": "holdfast", store: "memory:" } }),
    ).rejects.toMatchObject({
      code: "invalid_input",
      message: "--host: nowhere.invalid cannot be found",
    });
  });

  test.each(["0.0.0.0", "::", "some-name"])("on %s while no credential exists, and prints the command that creates one", async (host) => {
    await expect(start({ host })).rejects.toMatchObject({
      code: "invalid_input",
      message: expect.stringMatching(/^--host: .*nothing was started$/),
      hint: expect.stringContaining("holdfast token create --name"),
    });
  });

  test.each([
    ["port", "70000"],
    ["port", "http"],
    ["auth", "none"],
    ["public-url", "holdfast.example.com"],
    ["public-url", "https://holdfast.example.com/path"],
    ["public-url", "https://user:secret@holdfast.example.com"],
    ["rate-limit", "0"],
  ])("with --%s %s, and names the flag but no secret", async (flag, value) => {
    const error = await start({ [flag]: value }).catch((caught: unknown) => caught as Error);
    expect(error).toMatchObject({ code: "invalid_input", message: expect.stringMatching(new RegExp(`^--${flag}: must `)) });
    expect((error as Error).message).not.toContain("secret");
  });

  test("read-only where there is no store yet", async () => {
    await expect(startHttpServer({ flags: { "read-only": true } })).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("holdfast serve", () => {
  let built: Awaited<ReturnType<typeof buildExecutable>>;
  beforeAll(async () => {
    built = await buildExecutable();
  });
  afterAll(() => built.remove());
  const serve = (args: readonly string[]) => startExecutable(built.main, ["serve", ...args], { env: { PATH: process.env.PATH } });
  const ended = (code: number) => expect.objectContaining({ code, signal: null });

  test("prints its address on one line, and exits with 0 on a signal; standard output has nothing else", async () => {
    const { child, finished, saw } = serve(["--port", "0", "--store", "memory:"]);
    await saw(/\n/);
    child.kill("SIGTERM");
    expect(await finished).toEqual({
      code: 0,
      signal: null,
      stdout: expect.stringMatching(
        /^Dashboard http:\/\/127\.0\.0\.1:\d+\/ {2}MCP http:\/\/127\.0\.0\.1:\d+\/mcp {2}\(no token needed on this machine; for others: holdfast token create\)\n$/,
      ),
      stderr: expect.any(String),
    });
  });

  test("--json says it for programs, and Ctrl-C ends it too", async () => {
    const { child, finished, saw } = serve(["--port", "0", "--store", "memory:", "--json", "--auth", "token"]);
    const line = JSON.parse(await saw(/\n/));
    expect(line).toEqual({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      listens_on: line.url,
      mcp_url: `${line.url}/mcp`,
      dashboard_url: `${line.url}/`,
      operator_without_token: false,
    });
    child.kill("SIGINT");
    expect(await finished).toEqual(ended(0));
  });

  test("prints the listening address next to the public one, for the set-up of the proxy", async () => {
    const { child, finished, saw } = serve(["--port", "0", "--store", "memory:", "--public-url", "https://holdfast.example.com"]);
    expect(await saw(/\n/)).toMatch(
      /^Dashboard https:\/\/holdfast\.example\.com\/ {2}MCP https:\/\/holdfast\.example\.com\/mcp {2}\(listening on http:\/\/127\.0\.0\.1:\d+; callers need a token/,
    );
    child.kill("SIGTERM");
    expect(await finished).toEqual(ended(0));
  });

  test("a second signal ends it at once, whatever is still being answered", async () => {
    const server = await startHttpProcess(built.main, ["--store", "memory:"]);
    using waiting = await connectRaw(server.port);
    // In the middle of its body: the grace period would be given to it.
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", "content-length": "1000", expect: "100-continue" };
    waiting.write(head("POST", "/mcp", server.port, headers));
    await waiting.saw(/100 Continue/);
    waiting.write("{");
    server.child.kill("SIGTERM");
    // It has heard the first signal when it takes no more connections; two that wait to be heard would be one.
    await soon(() => expect(askRaw(server.port, head("GET", "/livez", server.port))).rejects.toThrow(/ECONNREFUSED/));
    expect(server.child.exitCode).toBeNull();
    // After the grace period it would end with 0.
    expect(await server.stop("SIGTERM")).toEqual(ended(130));
  });

  test("a wider address is refused on standard error with the command that fixes it", async () => {
    const { finished } = serve(["--host", "0.0.0.0", "--store", `sqlite:${join(built.folder, "wide.db")}`]);
    expect(await finished).toEqual({ code: 2, signal: null, stdout: "", stderr: expect.stringMatching(/^holdfast: --host: .*holdfast token create --name/) });
  });

  test("writes its access log as lines of JSON when asked to", async () => {
    const server = await startHttpProcess(built.main, ["--store", "memory:", "--log-level", "info"]);
    await (await fetch(`${server.url}/api/me?token=hf_secret`)).text();
    const { stderr } = await server.stop();
    const events = stderr
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(events).toContainEqual({
      time: expect.any(String),
      level: "info",
      event: "request",
      request: expect.any(String),
      method: "GET",
      route: "/api/me",
      status: 400,
      ms: expect.any(Number),
      principal: expect.any(String),
    });
    expect(stderr).not.toContain("hf_secret");
  });
});

test("serve's own settings are in its help, and not in that of other commands", async () => {
  const { run } = openCommandLine();
  const help = async (...args: string[]) => (await run(args)).stdout;
  expect(await help("serve", "--help")).toMatch(/--host ADDRESS[\s\S]*--port NUMBER[\s\S]*--allowed-hosts LIST[\s\S]*--rate-limit NUMBER/);
  for (const other of [await help("help"), await help("get", "--help")]) expect(other).not.toMatch(/--host|--rate-limit|--allowed/);
});
