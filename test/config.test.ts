import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir, userInfo } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { clientFolders, readConfig, settingArguments } from "../src/config.ts";
import { formatDuration, parseDurationMs } from "../src/kernel/duration.ts";
import { hasPassword, shownUrl, storeAddress } from "../src/kernel/store-url.ts";
import { version } from "../src/kernel/version.ts";
import type { SettingName, SettingSource } from "../src/settings.ts";
import { configSchema, settingSources } from "../src/settings.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-config-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function configFile(content: string): string {
  const path = join(folder, `${Math.abs(hash(content))}.json`);
  writeFileSync(path, content);
  return path;
}
const hash = (text: string): number => Array.from(text).reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) | 0, 7);

describe("precedence", () => {
  test("a flag goes before a variable, a variable before the file, the file before an alias, an alias before the default", () => {
    const file = configFile('{"port": 3, "host": "file.example", "logLevel": "info"}');
    const environment = { HOLDFAST_PORT: "2", HOLDFAST_CONFIG: file, SIDECAR_PORT: "4", SIDECAR_HOST: "alias.example" };
    const config = readConfig({ port: "1" }, environment);
    expect(config).toMatchObject({ port: 1, host: "file.example", logLevel: "info", namespace: "default" });
    expect(readConfig({}, environment).port).toBe(2);
    expect(readConfig({}, { HOLDFAST_CONFIG: file, SIDECAR_PORT: "4" }).port).toBe(3);
    expect(readConfig({}, { SIDECAR_PORT: "4" }).port).toBe(4);
    expect(readConfig({}, {}).port).toBe(8000);
    expect(config.origins).toMatchObject({ port: "--port", host: "host in HOLDFAST_CONFIG", namespace: "default" });
  });

  test("a program's own option goes before everything", () => {
    expect(readConfig({ namespace: "flag" }, { HOLDFAST_NAMESPACE: "variable" }, { namespace: { raw: "option", origin: "namespace" } }).namespace).toBe("option");
  });

  test("an empty variable counts as unset", () => {
    expect(readConfig({}, { HOLDFAST_NAMESPACE: "", HOLDFAST_STORE: "", DB_PATH: "", NO_COLOR: "" })).toMatchObject({
      namespace: "default",
      colourAllowed: true,
      origins: { store: "default" },
    });
  });

  test("NO_COLOR with a value forbids colour", () => {
    expect(readConfig({}, { NO_COLOR: "1" }).colourAllowed).toBe(false);
  });
});

describe("the folders of mirror files", () => {
  test("are absolute from here on, with the tilde expanded; none stays none", () => {
    expect(readConfig({ "checkpoint-dir": "notes/c" }, { HOLDFAST_KNOWLEDGE_DIR: "~/k" })).toMatchObject({ checkpointDir: resolve("notes/c"), knowledgeDir: join(homedir(), "k") });
    expect(readConfig({ "checkpoint-dir": "none" }, {}).checkpointDir).toBe("none");
    expect(readConfig({}, { HOLDFAST_CHECKPOINT_DIR: "" }).checkpointDir).toBeUndefined();
  });
});

describe("the journal", () => {
  test("keeps for ever, and has no format of its own, unless told otherwise", () => {
    const { journalFormat, journalAgeMs, goldfishDir } = readConfig({}, {});
    expect({ journalFormat, journalAgeMs, goldfishDir }).toEqual({ journalFormat: undefined, journalAgeMs: undefined, goldfishDir: undefined });
    expect(readConfig({ "journal-age": "90d" }, {}).journalAgeMs).toBe(90 * 86_400_000);
    expect(readConfig({ "journal-age": "forever" }, { HOLDFAST_JOURNAL_AGE: "1d" }).journalAgeMs).toBeUndefined();
    expect(() => readConfig({ "journal-age": "0" }, {})).toThrow("--journal-age: must be forever, or a duration");
  });

  test("takes the variables of Goldfish, behind its own", () => {
    const environment = { GOLDFISH_OUTPUT_MODE: "emoji", COA_GOLDFISH_BASE_PATH: "/data/goldfish" };
    expect(readConfig({}, environment)).toMatchObject({ journalFormat: "emoji", goldfishDir: "/data/goldfish" });
    expect(readConfig({}, { ...environment, HOLDFAST_JOURNAL_FORMAT: "dual" }).journalFormat).toBe("dual");
    expect(readConfig({}, { GOLDFISH_OUTPUT_MODE: "loud" }).journalFormat).toBeUndefined();
    expect(() => readConfig({}, { HOLDFAST_JOURNAL_FORMAT: "loud" })).toThrow("HOLDFAST_JOURNAL_FORMAT: must be one of text, plain, emoji, json, dual");
  });
});

describe("the store", () => {
  test.skipIf(process.platform !== "linux")("is a file in the user's data folder by default", () => {
    expect(readConfig({}, { XDG_DATA_HOME: "/data" }).store).toBe("sqlite:/data/holdfast/holdfast.db");
    expect(readConfig({}, { XDG_DATA_HOME: "data" }).store).toBe(readConfig({}, {}).store);
    expect(readConfig({}, {}).store).toBe(`sqlite:${join(homedir(), ".local/share/holdfast/holdfast.db")}`);
  });

  test.skipIf(process.platform !== "linux").each(["", "somewhere/below"])("is not in the current folder where HOME is %j", (home) => {
    const { HOME } = process.env;
    process.env.HOME = home;
    try {
      expect(readConfig({}, {}).store).toBe(`sqlite:${join(userInfo().homedir, ".local/share/holdfast/holdfast.db")}`);
      expect(clientFolders({}).home).toBe(userInfo().homedir);
    } finally {
      process.env.HOME = HOME;
    }
  });

  test.each([
    [{ CHECKPOINT_DB_PATH: "/a.db", DB_PATH: "/b.db" }, "sqlite:/a.db"],
    [{ DB_PATH: "/b.db" }, "sqlite:/b.db"],
    [{ STATE_BACKEND: "sqlite", DB_PATH: "/b.db" }, "sqlite:/b.db"],
    [{ STATE_BACKEND: "MEMORY", DB_PATH: "/b.db" }, "memory:"],
    [{ HOLDFAST_STORE: "memory:", CHECKPOINT_DB_PATH: "/a.db" }, "memory:"],
  ])("the environment %j means %s", (environment, store) => {
    expect(readConfig({}, environment).store).toBe(store);
  });

  test("REDIS_URL alone means nothing, because other programs set it", () => {
    expect(readConfig({}, { REDIS_URL: "redis://elsewhere" }).origins.store).toBe("default");
  });

  test("a path becomes absolute, and a tilde the home folder, because no shell expands it", () => {
    expect(readConfig({ store: "sqlite:some/x.db" }, {}).store).toBe(`sqlite:${resolve("some/x.db")}`);
    expect(readConfig({ store: "sqlite:~/x.db" }, {}).store).toBe(`sqlite:${join(homedir(), "x.db")}`);
  });

  test.each([
    [{ store: "redis://cache:6379/2?prefix=team:" }, {}, "redis://cache:6379/2?prefix=team:"],
    [{ store: "postgres://user:secret@host/db" }, {}, "postgres://user:secret@host/db"],
    [{}, { STATE_BACKEND: "redis", REDIS_URL: "redis://h" }, "redis://h"],
    [{}, { STATE_BACKEND: "redis" }, "redis://localhost:6379"],
    [{ store: "redis+cluster://a:7000,b:7000" }, {}, "redis+cluster://a:7000,b:7000"],
  ])("%j with %j is a server, its URL as it was given", (flags, environment, store) => {
    expect(readConfig(flags, environment).store).toBe(store);
  });

  test.each([
    [{ store: "mysql://root:secret@host/db" }, {}, "--store"],
    [{}, { STATE_BACKEND: "redis", REDIS_URL: "cache.secret:6379" }, "STATE_BACKEND=redis"],
    [{ store: "sqlite:" }, {}, "--store"],
    [{}, { HOLDFAST_STORE: "./x.db" }, "HOLDFAST_STORE"],
  ])("%j with %j is refused with the name it came from and what a store may be", (flags, environment, origin) => {
    const refused = refusalOf(() => readConfig(flags, environment));
    expect(refused.message).toMatch(new RegExp(`^${origin}: must be sqlite:PATH, postgres://.* or memory:`));
    expect(refused.message).not.toContain("secret");
  });

  test("a server's URL without a server is refused with the form it should have", () => {
    for (const store of ["postgres:secret", "redis://", "rediss://?password=secret", "redis+cluster:"])
      expect(refusalOf(() => readConfig({ store }, {})).message, store).toMatch(/^--store: needs a host: (postgres|redis|redis\+cluster):\/\/[^?]*$/);
  });

  test("a bare path is refused with the URL that was meant", () => {
    expect(refusalOf(() => readConfig({ store: "./x.db" }, {})).hint).toContain("sqlite:./x.db");
  });
});

describe("values", () => {
  test("what Kubernetes puts into SIDECAR_PORT for a service of that name is no setting", () => {
    expect(readConfig({}, { SIDECAR_PORT: "tcp://10.0.0.7:8080" })).toMatchObject({ port: 8000, origins: { port: "default" } });
    expect(readConfig({}, { SIDECAR_PORT: "tcp://[fd00::7]:8080" }).port).toBe(8000);
  });

  test("durations, lists, switches and numbers are read from text and from JSON", () => {
    const text = readConfig({ "claim-ttl": "1h30m", tools: "state, lease", "read-only": true, "history-revisions": "5000" }, {});
    expect(text).toMatchObject({ claimTtlMs: 5_400_000, tools: ["state", "lease"], readOnly: true, historyRevisions: 5_000 });
    const file = configFile('{"claimTtl": 90, "tools": ["state"], "readOnly": true, "historyAge": "7d"}');
    expect(readConfig({ config: file }, {})).toMatchObject({ claimTtlMs: 90_000, tools: ["state"], readOnly: true, historyAgeMs: 604_800_000 });
    expect(readConfig({}, { HOLDFAST_READ_ONLY: "yes" }).readOnly).toBe(true);
    expect(readConfig({}, { HOLDFAST_READ_ONLY: "0" }).readOnly).toBe(false);
  });

  test.each([
    [{ "claim-ttl": "soon" }, {}, /^--claim-ttl: must be a duration/],
    [{ "claim-ttl": "8d" }, {}, /^--claim-ttl: .*to 7d/],
    [{}, { HOLDFAST_PORT: "70000" }, /^HOLDFAST_PORT: must be a whole number from 0 to 65535/],
    [{}, { SIDECAR_PORT: "http" }, /^SIDECAR_PORT: must be a whole number/],
    [{}, { SIDECAR_PORT: "tcp://10.0.0.7" }, /^SIDECAR_PORT: must be a whole number/],
    [{}, { HOLDFAST_PORT: "tcp://10.0.0.7:8080" }, /^HOLDFAST_PORT: must be a whole number/],
    [{ port: "tcp://10.0.0.7:8080" }, {}, /^--port: must be a whole number/],
    [{}, { HOLDFAST_LOG_LEVEL: "loud" }, /^HOLDFAST_LOG_LEVEL: must be one of debug, info, warn, error/],
    [{}, { HOLDFAST_READ_ONLY: "perhaps" }, /^HOLDFAST_READ_ONLY: must be true or false/],
    [{}, { STATE_BACKEND: "mongo" }, /^STATE_BACKEND: must be sqlite, memory or redis/],
    [{ "history-revisions": "10" }, {}, /^--history-revisions: must be a whole number from 1000/],
  ])("%j with %j is refused by name", (flags, environment, message) => {
    expect(refusalOf(() => readConfig(flags, environment))).toMatchObject({ code: "invalid_input", message: expect.stringMatching(message) });
  });

  test("a file that is missing, not JSON, not an object or has an unknown setting is refused by name", () => {
    expect(refusalOf(() => readConfig({ config: join(folder, "none.json") }, {})).message).toMatch(/^--config: .*cannot be read/);
    expect(refusalOf(() => readConfig({ config: configFile("{") }, {})).message).toMatch(/^--config: .*not JSON/);
    expect(refusalOf(() => readConfig({ config: configFile("[]") }, {})).message).toMatch(/^--config: must contain one JSON object/);
    expect(refusalOf(() => readConfig({ config: configFile('{"stroe": "memory:"}') }, {})).message).toMatch(/^stroe in --config: unknown setting; allowed: store, /);
    expect(refusalOf(() => readConfig({ config: configFile('{"port": "x"}') }, {})).message).toMatch(/^port in --config: must be a whole number/);
  });
});

test("no two settings share a flag or a variable", () => {
  const sources = Object.values(settingSources);
  const names = sources.flatMap(({ flag, variable, aliases }) => [...(flag === undefined ? [] : [flag]), variable, ...aliases]);
  expect(new Set(names).size).toBe(names.length);
  expect(sources.length).toBeGreaterThan(10);
});

describe("the table of settings agrees with the schema", () => {
  const settings = Object.entries(settingSources) as readonly (readonly [SettingName, SettingSource])[];
  const parsed = (name: SettingName, raw: unknown) => configSchema.shape[name].safeParse(raw);
  const durations = settings.filter(([, { takes }]) => takes === "DURATION").map(([name]) => name);
  const numbers = settings.filter(([, { takes }]) => takes === "COUNT" || takes === "NUMBER").map(([name]) => name);
  /** Settings whose default is described in words. */
  const inWords: readonly SettingName[] = ["allowedHosts", "allowedOrigins", "jwtAlgorithms"];

  test.each(settings.filter(([name]) => parsed(name, undefined).data !== undefined && !inWords.includes(name)))("%s: the stated default is the real one", (name, { fallback }) => {
    expect(parsed(name, fallback)).toMatchObject({ success: true, data: parsed(name, undefined).data });
  });

  test.each([...durations, ...numbers])("%s: the stated bounds are the real ones", (name) => {
    const [, low = "", high = ""] = / from (\S+) to (\S+)$/.exec(settingSources[name].allowed) ?? [];
    const past = (text: string, step: number): string => (durations.includes(name) ? `${Number(parseDurationMs(text)) + step}ms` : String(Number(text) + step));
    expect([low, high].map((text) => parsed(name, text).success)).toEqual([true, true]);
    expect([past(low, -1), past(high, 1)].map((text) => parsed(name, text).success)).toEqual([false, false]);
  });

  test.each(durations)("%s: a duration is read into a member whose name ends in Ms", (name) => {
    const [, low = ""] = / from (\S+) to /.exec(settingSources[name].allowed) ?? [];
    const config = readConfig({ [settingSources[name].flag as string]: low }, {}) as unknown as Readonly<Record<string, unknown>>;
    expect([config[`${name}Ms`], config[name]]).toEqual([parseDurationMs(low), undefined]);
  });

  const samples = ["relative/path", "onnx:relative/path"];
  const isPath = ([name]: (typeof settings)[number]): boolean => samples.some((sample) => String(parsed(name, sample).data).endsWith(resolve("relative/path")));
  test.each(settings.filter(isPath))("%s: a relative path is absolute in the arguments for a client's file", (name, { flag = "" }) => {
    const flags = { [flag]: samples.find((sample) => parsed(name, sample).success) as string };
    expect(settingArguments(flags, readConfig(flags, {}))).toEqual([`--${flag}`, expect.stringMatching(new RegExp(`^(onnx:)?${resolve("relative/path")}$`))]);
  });

  test("every setting is used", () => {
    const src = fileURLToPath(new URL("../src", import.meta.url));
    const sources = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts") && !["config.ts", "settings.ts"].includes(path));
    const text = sources.map((path) => readFileSync(join(src, path), "utf8")).join("\n");
    expect(sources.length).toBeGreaterThan(500);
    expect(settings.map(([name]) => name).filter((name) => !new RegExp(`\\b${name}(Ms)?\\b`).test(text))).toEqual([]);
  });
});

test("the version in the code is the package's", () => {
  expect(version).toBe(JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version);
});

describe("durations", () => {
  test.each([
    ["45", 45_000],
    ["1.5", 1_500],
    ["250ms", 250],
    ["60s", 60_000],
    ["5m", 300_000],
    ["1h30m", 5_400_000],
    ["2w", 1_209_600_000],
  ])("%s is %d milliseconds", (text, ms) => {
    expect(parseDurationMs(text)).toBe(ms);
  });

  test.each(["", "soon", "-5s", "5 m", "1e3", "10x", "m"])("%j is no duration", (text) => {
    expect(parseDurationMs(text)).toBeUndefined();
  });

  test.each([
    [999, "999ms"],
    [45_000, "45s"],
    [7_500_000, "2h 5m"],
    [90_061_000, "1d 1h"],
    [3_600_000, "1h"],
  ])("%d milliseconds are shown as %s", (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });
});

describe("the settings of figures and traces", () => {
  test("OTEL_… variables count for us when they fit, and are not reported as errors when they do not", () => {
    const given = readConfig({}, { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318", OTEL_EXPORTER_OTLP_HEADERS: "x-key=a%20b,y=2", OTEL_SERVICE_NAME: "agents" });
    expect(given).toMatchObject({ otlpEndpoint: "http://collector:4318", otlpHeaders: "x-key=a%20b,y=2", otlpServiceName: "agents" });
    expect(given.origins.otlpEndpoint).toBe("OTEL_EXPORTER_OTLP_ENDPOINT");
    for (const endpoint of ["collector:4317", "grpc://collector:4317", "http://user:secret@collector:4318", "unix:///x"]) {
      const { otlpEndpoint, otlpHeaders } = readConfig({}, { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: "no pairs" });
      expect([otlpEndpoint, otlpHeaders]).toEqual([undefined, undefined]);
    }
    expect(readConfig({}, { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318", OTEL_SDK_DISABLED: "true" }).otlpEndpoint).toBeUndefined();
  });

  test("given to us, a wrong one is refused without showing it", () => {
    expect(refusalOf(() => readConfig({ "otlp-endpoint": "http://user:hunter2@collector:4318" }, {})).message).toMatch(/^--otlp-endpoint: must be the http/);
    const headers = refusalOf(() => readConfig({}, { HOLDFAST_OTLP_HEADERS: "hunter2\n" }));
    expect(headers.message).toMatch(/^HOLDFAST_OTLP_HEADERS: must be name=value/);
    expect(JSON.stringify(headers)).not.toContain("hunter2");
    for (const ratio of ["-1", "1.5", "half", "NaN"]) expect(refusalOf(() => readConfig({ "otlp-sample-ratio": ratio }, {})).message).toMatch(/from 0 to 1/);
    for (const ratio of ["0", "1", "0.25", ".5"]) expect(readConfig({ "otlp-sample-ratio": ratio }, {}).otlpSampleRatio).toBe(Number(ratio));
  });

  test("secrets are allowed and ten million keys are the limit, unless configured otherwise", () => {
    expect(readConfig({}, {})).toMatchObject({ secrets: "allow", keysMax: 10_000_000 });
    expect(readConfig({ secrets: "redact", "keys-max": "5" }, {})).toMatchObject({ secrets: "redact", keysMax: 5 });
    expect(refusalOf(() => readConfig({ secrets: "hide" }, {})).message).toBe("--secrets: must be one of allow, refuse, redact");
    expect(refusalOf(() => readConfig({ "keys-max": "0" }, {})).message).toMatch(/from 1 to 1000000000/);
    expect([readConfig({}, {}).namespacesMax, readConfig({}, { HOLDFAST_NAMESPACES_MAX: "7" }).namespacesMax]).toEqual([2_000, 7]);
    expect(refusalOf(() => readConfig({ "namespaces-max": "0" }, {})).message).toMatch(/from 1 to 100000/);
  });
});

function refusalOf(act: () => unknown): { readonly code: string; readonly message: string; readonly hint?: string } {
  try {
    act();
  } catch (error) {
    return error as { code: string; message: string };
  }
  throw new Error("It was accepted.");
}

describe("a store's URL as it is shown", () => {
  test.each([
    ["postgres://agent:s3cret@db.example:5432/work?sslmode=require&password=s3cret", "postgres://agent@db.example:5432/work"],
    ["redis://:s3cret@cache:6379/2", "redis://cache:6379/2"],
    ["postgres://agent:s3/c@r:et@db/work", "postgres://agent@db/work"],
    ["redis+cluster://a:7000,b:7001?password=s3cret", "redis+cluster://a:7000,b:7001"],
    ["redis+sentinel://a:26379/group?sentinel_user=x&sentinel_password=s3cret", "redis+sentinel://a:26379/group"],
    ["redis://cache?password=s3@cret", "redis://…"],
    ["redis://:s3?cret@cache", "redis://…"],
    ["sqlite:/data/a@b?c.db", "sqlite:/data/a@b?c.db"],
  ])("%s has no password and no settings", (url, shown) => {
    expect(shownUrl(url)).toBe(shown);
    expect(hasPassword(url)).toBe(url.includes("s3"));
    expect(storeAddress(url)).toBe(shown);
  });

  test.each([
    ["postgres://agent:s3cret@db/work?sslmode=require&schema=team_a&password=s3cret", "postgres://agent@db/work?schema=team_a"],
    ["redis://:s3cret@cache:6379/2?prefix=a:b%26c&deadline=5s#x", "redis://cache:6379/2?prefix=a:b%26c"],
    ["redis+cluster://a:7000,b:7001?wait_replicas=1&prefix=%s3cret", "redis+cluster://a:7000,b:7001?prefix=%25s3cret"],
    ["postgres://agent:s3?schema=c@db/work?schema=x", "postgres://…?schema=x"],
  ])("%s, told from others in the same server, keeps what tells it from them and nothing else", (url, shown) => {
    expect(storeAddress(url)).toBe(shown);
  });
});
