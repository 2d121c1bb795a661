import { createHook } from "node:async_hooks";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openStaticFiles, pagePolicy } from "../../../src/surfaces/http/static-files.ts";
import type { HttpServer } from "../../support/http-server.ts";
import { startHttpServer } from "../../support/http-server.ts";
import { askRaw, head } from "../../support/raw-http.ts";

const page = `<!doctype html><title>page</title><script type="module" src="/assets/app-0123ABCD.js"></script>${"<!-- -->".repeat(100)}`;
const script = "export const x = 1;\n".repeat(200);
let folder: string;
let server: HttpServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-page-"));
  await mkdir(join(folder, "page", "assets"), { recursive: true });
  await writeFile(join(folder, "secret.txt"), "outside");
  await writeFile(join(folder, "page", "index.html"), page);
  await writeFile(join(folder, "page", "assets", "app-0123ABCD.js"), script);
  await writeFile(join(folder, "page", "favicon.svg"), "<svg/>");
  await symlink(join(folder, "secret.txt"), join(folder, "page", "link.txt"));
  server = await startHttpServer({ flags: { store: "memory:", auth: "token" }, dashboardFolder: join(folder, "page") });
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true });
});

const get = (path: string, headers: Record<string, string> = {}) => askRaw(server.port, head("GET", path, server.port, headers));

describe("the page", () => {
  test("is open, because there is no data in it", async () => {
    expect(await get("/")).toMatchObject({ status: 200, body: page });
    expect((await get("/api/me")).status).toBe(401);
  });

  test("is under a policy that lets it load from here alone, run nothing inline and not be framed by any page", async () => {
    const answer = await get("/");
    expect(answer.head).toContain(`content-security-policy: ${pagePolicy.toLowerCase()}`);
    for (const rule of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"])
      expect(pagePolicy.split("; ")).toContain(rule);
    expect(pagePolicy).not.toMatch(/unsafe|\*|http/);
    for (const line of [
      "x-content-type-options: nosniff",
      "referrer-policy: no-referrer",
      "cross-origin-opener-policy: same-origin",
      "cross-origin-resource-policy: same-origin",
      "cross-origin-embedder-policy: require-corp",
      "x-frame-options: deny",
      "permissions-policy: ",
    ])
      expect(answer.head).toContain(line);
  });

  test.each(["/sign-in", "/tokens", "/ns/default", "/ns/a%2Fb/keys/x.json", "/ns/default/runs/abc", "/ns/default/mcp/x"])("is also at %s, an address of its own", async (path) => {
    expect(await get(path)).toMatchObject({ status: 200, body: page });
  });

  test("tells a person who follows a wrong link, with 404, and a program without it", async () => {
    expect(await get("/wrong", { accept: "text/html,*/*" })).toMatchObject({ status: 404, body: page });
    expect(await get("/wrong", { accept: "*/*" })).toMatchObject({ status: 404, body: expect.stringContaining("not_found") });
    expect(await get("/assets/gone-0123ABCD.js", { accept: "text/html" })).toMatchObject({ status: 404, body: expect.stringContaining("not_found") });
  });

  test("is requested again each time, cheaply", async () => {
    const first = await get("/");
    expect(first.head).toContain("cache-control: no-cache");
    const etag = (await server.fetch("/")).headers.get("etag");
    expect(etag).toMatch(/^W\/"[\w-]{22}"$/);
    const again = await get("/", { "if-none-match": `"other", ${etag}` });
    expect([again.status, again.body]).toEqual([304, ""]);
    expect((await get("/", { "if-none-match": '"other"' })).status).toBe(200);
  });

  test("answers HEAD without a body and other methods not at all", async () => {
    const answer = await askRaw(server.port, head("HEAD", "/", server.port));
    expect([answer.status, answer.body, answer.head]).toEqual([200, "", expect.stringContaining(`content-length: ${page.length}`)]);
    expect((await askRaw(server.port, head("DELETE", "/", server.port))).status).toBe(405);
  });
});

describe("a file", () => {
  test("with a hash in its name is kept for ever; one without is not", async () => {
    expect((await get("/assets/app-0123ABCD.js")).head).toContain("cache-control: public, max-age=31536000, immutable");
    expect((await get("/favicon.svg")).head).toContain("cache-control: no-cache");
  });

  test("has the type of its kind", async () => {
    expect((await get("/assets/app-0123ABCD.js")).head).toContain("content-type: text/javascript; charset=utf-8");
    expect((await get("/favicon.svg")).head).toContain("content-type: image/svg+xml");
  });

  test("is sent as small as the browser takes it, and says that it depends", async () => {
    const sent = async (accepted: string) => {
      const answer = await get("/assets/app-0123ABCD.js", { "accept-encoding": accepted });
      return { encoding: /content-encoding: (\w+)/.exec(answer.head)?.[1], bytes: Buffer.from(answer.body, "latin1"), vary: answer.head.includes("vary: accept-encoding") };
    };
    const br = await sent("gzip, deflate, br");
    expect([br.encoding, brotliDecompressSync(br.bytes).toString(), br.vary]).toEqual(["br", script, true]);
    const gzip = await sent("gzip;q=0.5, br;q=0");
    expect([gzip.encoding, gunzipSync(gzip.bytes).toString()]).toEqual(["gzip", script]);
    const plain = await sent("identity");
    expect([plain.encoding, plain.bytes.toString()]).toEqual([undefined, script]);
    expect((await sent("brx, xgzip")).encoding).toBeUndefined();
  });

  test("is compressed when a browser first asks for it, once for each encoding, and not when the server starts", async () => {
    let compressions = 0;
    const count = (_id: number, type: string): void => {
      if (type === "ZLIB") compressions += 1;
    };
    const hook = createHook({ init: count }).enable();
    onTestFinished(() => void hook.disable());
    const files = await openStaticFiles(join(folder, "page"));
    expect([files.count > 0, compressions]).toEqual([true, 0]);
    await using other = await startHttpServer({ flags: { store: "memory:", auth: "token" }, dashboardFolder: join(folder, "page") });
    const ask = (encoding: string) => askRaw(other.port, head("GET", "/assets/app-0123ABCD.js", other.port, { "accept-encoding": encoding }));
    await ask("identity");
    expect(compressions).toBe(0);
    await Promise.all([ask("br"), ask("br")]);
    await ask("br");
    expect(compressions).toBe(1);
    await ask("gzip");
    expect(compressions).toBe(2);
  });

  test.each(["/link.txt", "/../secret.txt", "/%2e%2e/secret.txt", "/assets/../../secret.txt", "/assets/%2e%2e%2f%2e%2e%2fsecret.txt", "/assets", "/assets/", "/index.html/"])(
    "outside of the folder, or none (%s), is not given",
    async (path) => {
      const { status, body } = await get(path);
      expect([400, 404]).toContain(status);
      expect(body).not.toContain("outside");
    },
  );
});

test("a package without the page serves the rest, and says so in the log", async () => {
  await using bare = await startHttpServer({ flags: { store: "memory:" }, dashboardFolder: join(folder, "nowhere") });
  expect((await bare.fetch("/")).status).toBe(404);
  expect((await bare.fetch("/api/me")).status).toBe(200);
  expect(bare.logged).toContainEqual(expect.objectContaining({ level: "warn", event: "dashboard_missing" }));
});
