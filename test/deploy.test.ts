import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { openEngine } from "../src/engines/open-store.ts";
import { settingSources } from "../src/settings.ts";
import { buildExecutable, startExecutable } from "./support/cli-process.ts";
import { mcpHeaders, toolCall } from "./support/http-messages.ts";
import { freePort } from "./support/servers/free-port.ts";
import { projectRoot, requireRedisPrograms } from "./support/servers/server-programs.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const run = promisify(execFile);
const deploy = (name: string): string => join(projectRoot, "deploy", name);
const read = (name: string): Promise<string> => readFile(deploy(name), "utf8");
const service = async (script: string): Promise<string> => (await run(process.execPath, [join(projectRoot, "scripts", "test-services", script)])).stdout.trim();

const settingVariables = new Set(Object.values(settingSources).map(({ variable }) => variable));
const unknownSettings = (names: readonly string[]): readonly string[] => names.filter((name) => name.startsWith("HOLDFAST_") && !settingVariables.has(name));
/** What must come from outside, whatever it is called. */
const looksSecret = /(password|secret|token|key)\s*[=:]\s*["']?[A-Za-z0-9]/i;

let built: Awaited<ReturnType<typeof buildExecutable>>;
beforeAll(async () => {
  built = await buildExecutable();
});
afterAll(() => built?.remove());

/** `holdfast serve`, started by whatever stands before it; resolves when it listens. */
async function serve(before: readonly string[] = []) {
  const port = await freePort();
  const [file, ...args] = [...before, process.execPath, built.main, "serve", "--json"];
  const child = spawn(file as string, args, {
    env: { PATH: process.env.PATH, HOLDFAST_PORT: String(port), HOLDFAST_STORE: `sqlite:${join(await temporaryFolder(), "store.db")}` },
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return {
    port,
    async stop() {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    },
  };
}

describe("the systemd unit", () => {
  const unit = deploy("systemd/holdfast.service");

  test("says nothing that systemd does not understand, and leaves the service little to do harm with", async () => {
    const analyze = await service("systemd-analyze.mjs");
    const verified = await run(analyze, ["verify", unit]);
    expect(verified.stdout + verified.stderr).toBe("");
    const { stdout } = await run(analyze, ["security", "--offline=yes", "--threshold=15", "--no-pager", unit]);
    expect(stdout).toMatch(/Overall exposure level for holdfast\.service: 1\.\d OK/);
  });

  test("names settings that there are, and runs the server", async () => {
    const text = await read("systemd/holdfast.service");
    expect(unknownSettings([...text.matchAll(/^Environment=(\w+)=/gm)].map(([, name]) => name as string))).toEqual([]);
    expect(text).toMatch(/^ExecStart=\/usr\/bin\/env holdfast serve$/m);
    expect(text).not.toMatch(looksSecret);
  });

  test("lets every system call pass that the server makes", async () => {
    const [analyze, strace] = await Promise.all([service("systemd-analyze.mjs"), service("strace.mjs")]);
    const filters = [...(await read("systemd/holdfast.service")).matchAll(/^SystemCallFilter=(~?)(.+)$/gm)];
    expect(filters.length).toBeGreaterThan(1);
    const allowed = new Set<string>();
    for (const [, removes, sets = ""] of filters)
      for (const set of sets.split(" ")) for (const name of await callsIn(analyze, set)) removes === "~" ? allowed.delete(name) : allowed.add(name);
    const trace = join(await temporaryFolder(), "trace");
    // -D: the process that was started is the server, which can be asked to end.
    const server = await serve([strace, "-D", "-f", "-qq", "-o", trace]);
    const answer = await fetch(`http://127.0.0.1:${server.port}/mcp`, {
      method: "POST",
      headers: mcpHeaders("tools/call", "state_set"),
      body: JSON.stringify(toolCall("state_set", { key: "k", value: 1 })),
    });
    expect(await answer.json()).toMatchObject({ result: { structuredContent: { ok: true } } });
    await server.stop();
    const made = new Set([...(await readFile(trace, "utf8")).matchAll(/^\d+ +(\w+)\(/gm)].map(([, name]) => name as string));
    // A trace without the commit would show nothing.
    expect([...made].filter((name) => /^f(data)?sync$/.test(name))).not.toEqual([]);
    // Refused with EPERM, without harm: V8 does without protection keys, and SQLite gives files to another user only as root, which the service is not.
    const harmless = ["pkey_alloc", "fchown"];
    expect([...made].filter((name) => !allowed.has(name) && !harmless.includes(name))).toEqual([]);
  });
});

/** The calls of one of systemd's sets, and of those in it. */
async function callsIn(analyze: string, set: string): Promise<Set<string>> {
  const { stdout } = await run(analyze, ["syscall-filter", "--no-pager", set]);
  const names = stdout
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#") && line !== set);
  const inner = await Promise.all(names.filter((name) => name.startsWith("@")).map((name) => callsIn(analyze, name)));
  return new Set([...names.filter((name) => !name.startsWith("@")), ...inner.flatMap((calls) => [...calls])]);
}

describe("the Dockerfile", () => {
  const steps = async (): Promise<readonly (readonly [instruction: string, rest: string])[]> =>
    (await read("Dockerfile"))
      .split("\n")
      .filter((line) => line.trim() !== "" && !line.startsWith("#"))
      .map((line) => /^([A-Z]+) (.*)$/.exec(line)?.slice(1) as [string, string]);

  test("is made of instructions that there are, in two stages on a pinned image", async () => {
    const known = ["FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "STOPSIGNAL", "ENTRYPOINT", "CMD"];
    const all = await steps();
    expect(all.filter(([instruction]) => !known.includes(instruction))).toEqual([]);
    expect(all.filter(([instruction]) => instruction === "FROM").map(([, image]) => image)).toEqual([
      expect.stringMatching(/^node:\d+\.\d+\.\d+-bookworm-slim AS build$/),
      expect.stringMatching(/^node:\d+\.\d+\.\d+-bookworm-slim$/),
    ]);
  });

  test("copies files that there are, and that are sent to the build", async () => {
    const sent = (await read("Dockerfile.dockerignore")).split("\n").flatMap((line) => /^!(.+)$/.exec(line)?.[1] ?? []);
    expect((await read("Dockerfile.dockerignore")).split("\n")).toContain("*");
    for (const name of sent.filter((pattern) => !pattern.includes("*"))) expect([name, existsSync(join(projectRoot, name))]).toEqual([name, true]);
    const copied = (await steps()).filter(([instruction, rest]) => instruction === "COPY" && !rest.startsWith("--from")).flatMap(([, rest]) => rest.split(" ").slice(0, -1));
    expect(copied.filter((name) => name !== "." && !sent.includes(name))).toEqual([]);
    const { scripts } = JSON.parse(await readFile(join(projectRoot, "package.json"), "utf8")) as { readonly scripts: Readonly<Record<string, string>> };
    for (const [, name] of (await read("Dockerfile")).matchAll(/npm run (\w+)/g)) expect(Object.keys(scripts)).toContain(name);
  });

  test("ends as a user without rights, contains no secret, and names existing settings", async () => {
    const all = await steps();
    expect(all.filter(([instruction]) => instruction === "USER").at(-1)?.[1]).toBe("node");
    expect(all.findLastIndex(([instruction]) => instruction === "USER")).toBeGreaterThan(all.findLastIndex(([instruction]) => instruction === "RUN"));
    expect(await read("Dockerfile")).not.toMatch(looksSecret);
    expect(unknownSettings(all.filter(([instruction]) => instruction === "ENV").map(([, rest]) => rest.split("=")[0] as string))).toEqual([]);
  });

  test("has a health check that says yes to a server and no to none", async () => {
    const [, check = "[]"] = /CMD (\[.*\])$/.exec((await steps()).find(([instruction]) => instruction === "HEALTHCHECK")?.[1] ?? "") ?? [];
    const [program, ...args] = JSON.parse(check) as string[];
    expect(program).toBe("node");
    const exitCode = (port: number): Promise<unknown> =>
      run(process.execPath, args, { env: { HOLDFAST_PORT: String(port) } }).then(
        () => 0,
        ({ code }) => code,
      );
    const server = await serve();
    expect(await exitCode(server.port)).toBe(0);
    await server.stop();
    expect(await exitCode(server.port)).toBe(1);
  });

  test("starts a server that admits no caller before there is a token", async () => {
    const env = { PATH: process.env.PATH, HOLDFAST_HOST: "0.0.0.0", HOLDFAST_PORT: "0", HOLDFAST_STORE: `sqlite:${join(await temporaryFolder(), "holdfast.db")}` };
    const { code, stderr } = await startExecutable(built.main, ["serve"], { env }).finished;
    expect(code).not.toBe(0);
    expect(stderr).toContain("holdfast token create");
  });
});

interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}
interface ComposeService {
  readonly build?: { readonly context: string; readonly dockerfile: string };
  readonly image: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>>;
  readonly command?: readonly string[];
}

describe.each([
  ["compose.postgres.yaml", "postgres"],
  ["compose.redis.yaml", "redis"],
])("%s", (file, database) => {
  const load = async (): Promise<Compose> => parse(await read(file), { strict: true });

  test("runs Holdfast with its database, both pinned, published on this machine alone, and with no secret in it", async () => {
    const { services, volumes } = await load();
    expect(Object.keys(services)).toEqual(["holdfast", database]);
    const { holdfast } = services as { holdfast: ComposeService };
    const { version } = JSON.parse(await readFile(join(projectRoot, "package.json"), "utf8")) as { readonly version: string };
    expect(holdfast.image).toBe(`holdfast:${version}`);
    expect(existsSync(join(projectRoot, "deploy", holdfast.build?.context as string, holdfast.build?.dockerfile as string))).toBe(true);
    expect(services[database]?.image).toMatch(/^[a-z]+:\d+\.\d+(\.\d+)?-bookworm$/);
    expect(Object.keys(holdfast.depends_on ?? {})).toEqual([database]);
    for (const { ports = [], volumes: mounts = [] } of Object.values(services)) {
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
      for (const mount of mounts) expect(Object.keys(volumes)).toContain(mount.split(":")[0]);
    }
    expect(await read(file)).not.toMatch(looksSecret);
  });

  test("gives Holdfast settings that there are, and a store that it understands", async () => {
    const { environment } = (await load()).services.holdfast as ComposeService;
    expect(unknownSettings(Object.keys(environment))).toEqual([]);
    const url = new URL((environment.HOLDFAST_STORE as string).replace(/\$\{[^}]+\}/, "password"));
    expect([url.protocol, url.hostname]).toEqual([`${database}:`, database]);
  });
});

test("a Redis with the settings of the compose file is durable, and Holdfast has no warning for it", async () => {
  const { services } = parse(await read("compose.redis.yaml")) as Compose;
  const [shell, option, script = ""] = services.redis?.command ?? [];
  expect([shell, option]).toEqual(["sh", "-c"]);
  const { path } = await requireRedisPrograms();
  const data = join(await temporaryFolder(), "data");
  await mkdir(data);
  const port = await freePort();
  // As Compose hands it to the shell; only the place differs.
  const settings = script.replaceAll("$$", "$").replace("redis-server", path("server")).replace("dir /data", `dir ${data}\nport ${port}\nbind 127.0.0.1`);
  const redis = spawn("sh", ["-c", settings], { env: { PATH: process.env.PATH, REDIS_PASSWORD: "pass" }, stdio: ["ignore", "pipe", "ignore"] });
  onTestFinished(() => void redis.kill("SIGKILL"));
  for await (const line of createInterface({ input: redis.stdout })) if (line.includes("Ready to accept connections")) break;
  await using engine = await openEngine(`redis://:pass@127.0.0.1:${port}`);
  const { warnings, durability } = await engine.health("default");
  expect({ warnings, durability }).toEqual({ warnings: [], durability: expect.stringMatching(/before|each|every/i) });
});
