import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { beginEffect } from "../../src/domain/effects/begin-effect.ts";
import { effectId } from "../../src/domain/effects/identity.ts";
import { catalog } from "../../src/tools/catalog.ts";
import type { FoundSecret } from "../../src/tools/secret-shapes.ts";
import { findSecrets, redactSecrets, secretKinds } from "../../src/tools/secret-shapes.ts";
import { isNameField } from "../../src/tools/secret-switch.ts";
import { openMirror } from "../../src/transfer/mirror/open-mirror.ts";
import { cpuMsOf } from "../support/cpu-ms.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { TestTools } from "./open-tools.ts";
import { openTools } from "./open-tools.ts";

const letters = (count: number, alphabet = "aB3dE5gH7jK9mN1pQ"): string => Array.from({ length: count }, (_, i) => alphabet[(i * 7) % alphabet.length]).join("");
const hex = (count: number): string => letters(count, "0a1b2c3d4e5f6789");
const capitals = (count: number): string => letters(count, "AB3DE5GH7JK2MN4PQ");
const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const pem = (label: string): string => `-----BEGIN ${label}-----\n${letters(64)}\n${letters(40)}==\n-----END ${label}-----`;

/** One of each shape, made up here; `secret` is the part that must not be kept. */
const planted: readonly [kind: string, text: string, secret?: string][] = [
  ["private-key", pem("RSA PRIVATE KEY")],
  ["private-key", pem("PRIVATE KEY")],
  ["private-key", pem("OPENSSH PRIVATE KEY")],
  ["private-key", pem("PGP PRIVATE KEY BLOCK")],
  ["private-key", `-----BEGIN EC PRIVATE KEY-----\n${letters(64)}`],
  ["jwt", `${part({ alg: "RS256", typ: "JWT" })}.${part({ sub: "someone", exp: 1 })}.${letters(86)}`],
  ["url-password", "postgres://app:s3cr3t-pa55@db.internal:5432/main?x=1", "s3cr3t-pa55"],
  ["url-password", "redis://:only-a-password@cache:6379/0", "only-a-password"],
  ["url-password", "https://user:p@ss:w@example.com/path", "p@ss:w"],
  ["bearer-token", `Authorization: Bearer ${letters(32)}`, letters(32)],
  ["holdfast-token", `hf_${letters(41)}-_`],
  ["aws-access-key", `AKIA${capitals(16)}`],
  ["aws-access-key", `ASIA${capitals(16)}`],
  ["aws-secret-key", `aws_secret_access_key = ${letters(38)}/+`, `${letters(38)}/+`],
  ["aws-secret-key", `{"SecretAccessKey": "${letters(40)}"}`, letters(40)],
  ["azure-storage-key", `AccountKey=${letters(86)}==`, `AccountKey=${letters(86)}`],
  ["google-api-key", `AIza${letters(35)}`],
  ["google-oauth", `ya29.${letters(60)}`],
  ["google-oauth", `GOCSPX-${letters(28)}`],
  ...["ghp_", "gho_", "ghu_", "ghs_", "ghr_"].map((opening): [string, string] => ["github-token", `${opening}${letters(36)}`]),
  ["github-token", `github_pat_${letters(22)}_${letters(59)}`],
  ["gitlab-token", `glpat-${letters(20)}`],
  ["slack-token", `xoxb-123456789012-123456789012-${letters(24)}`],
  ["slack-token", `xapp-1-A012-345-${letters(40)}`],
  ["slack-webhook", `https://hooks.slack.com/services/T0123ABCD/B0123ABCD/${letters(24)}`, `hooks.slack.com/services/T0123ABCD/B0123ABCD/${letters(24)}`],
  ["stripe-key", `sk_live_${letters(24)}`],
  ["stripe-key", `whsec_${letters(32)}`],
  ["openai-key", `sk-proj-${letters(60)}`],
  ["openai-key", `sk-${letters(48)}`],
  ["anthropic-key", `sk-ant-api03-${letters(90)}`],
  ["hugging-face-token", `hf_${letters(34)}`],
  ["npm-token", `npm_${letters(36)}`],
  ["pypi-token", `pypi-AgEIcHlwaS5vcmc${letters(80)}`],
  ["sendgrid-key", `SG.${letters(22)}.${letters(43)}`],
  ["twilio-key", `SK${hex(32)}`],
  ["digitalocean-token", `dop_v1_${hex(64)}`],
  ["databricks-token", `dapi${hex(32)}`],
  ["docker-token", `dckr_pat_${letters(27)}`],
  ["vault-token", `hvs.${letters(24)}`],
  ["shopify-token", `shpat_${hex(32)}`],
  ["grafana-token", `glsa_${letters(32)}_${hex(8)}`],
  ["age-key", `AGE-SECRET-KEY-1${capitals(58)}`],
];

/** Looks like one, and is none. */
const innocent: readonly string[] = [
  "",
  "plain words, numbers 12345 and a path /etc/hosts",
  `AKIA${capitals(15)}`,
  `AKIA${capitals(17)}`,
  `AKIA${capitals(15)}a`,
  `XAKIA${capitals(16)}`,
  `hf_${letters(42)}`,
  `hf_${letters(44)}`,
  `shelf_${letters(43)}`,
  "hf_transfer and hf_hub_download are functions",
  `ghp_${letters(35)}`,
  `ghp_${letters(37)}`,
  "ghp_ is how they begin",
  "sk-learn and sk-proj-notes are names",
  "SKU1234567890",
  `npm_${letters(12)}`,
  "npm_config_cache",
  pem("CERTIFICATE"),
  pem("PUBLIC KEY"),
  "-----BEGIN a section that never ends",
  "eyJhbGciOiJSUzI1NiJ9 alone is a header",
  `eyJ${letters(20)}.${letters(20)}.${letters(40)}`,
  "https://example.com:8080/a@b",
  "https://user@example.com/",
  "https://user:@example.com/",
  "https://user:***@example.com/",
  "postgres://app:$PASSWORD@db/main and postgres://app:<password>@db/main and postgres://app:{{pw}}@db",
  "postgres://app:[redacted:url-password]@db/main",
  "ssh://git@github.com:22/x.git",
  "see http://a:80 and write to b@c.example",
  "http://[::1]:8000/mcp",
  "Bearer authentication is described in the specification",
  "Bearer of the ring",
  "aws_secret_access_key = (ask somebody)",
  "AccountKey=see-the-vault",
  "d1f2e3a4b5c6d7e8f9a0b1c2d3e4f5a6b7c8d9e0 is a commit",
  "9007199254740991-3f2a and 550e8400-e29b-41d4-a716-446655440000",
];

const shown = (text: string, found: readonly FoundSecret[]): readonly [string, string][] => found.map(({ kind, start, end }) => [kind, text.slice(start, end)]);

describe("secrets are recognized by their shape", () => {
  test.each(planted)("%s: %s", (kind, text, secret = text) => {
    for (const [before, after] of [
      ["", ""],
      ["it is ", " and so on"],
      ['{"x":"', '"}'],
      ["a=", "\n"],
      ["日本", "。"],
    ] as const) {
      // A key that was cut off ends with the text.
      const whole = text.startsWith("-----BEGIN EC") ? before + text : before + text + after;
      expect(shown(whole, findSecrets(whole))).toEqual([[kind, secret]]);
      const redacted = redactSecrets(whole, findSecrets(whole));
      expect(redacted).toContain(`[redacted:${kind}]`);
      expect(redacted).not.toContain(secret);
      expect(findSecrets(redacted)).toEqual([]);
    }
  });

  test("every kind that the code knows is planted here", () => {
    expect(new Set(planted.map(([kind]) => kind))).toEqual(new Set(secretKinds));
  });

  test.each(innocent)("left alone: %s", (text) => {
    expect(shown(text, findSecrets(text))).toEqual([]);
  });

  test("several in one text are all found, in order", () => {
    const text = planted.map(([, secret]) => secret).filter((secret) => !secret.startsWith("-----BEGIN EC"));
    expect(findSecrets(text.join("\n")).map(({ kind }) => kind)).toEqual(planted.filter(([, secret]) => !secret.startsWith("-----BEGIN EC")).map(([kind]) => kind));
  });

  test("takes time in proportion to a value's length alone, also for what is made to be slow", () => {
    const [bytes, times] = [65_536, 8];
    const fill = (piece: string, length: number): string => piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
    const hostile = [
      "a",
      "words and more words, ",
      "AKIA",
      "AKIA ",
      "-----BEGIN ",
      "-----BEGIN PRIVATE KEY-----",
      "eyJ",
      "eyJaaaaaaaaaaaaa.",
      "eyJaaaaaaaaaaa.eyJaaaaaaaa.",
      "://",
      "x://a:",
      "x://a:b@",
      "Bearer ",
      "Bearer aaaaaaaaaaaaaaaaaaaaaaaaaa ",
      "hf_",
      "hf_ ",
      "sk-",
      "sk-a ",
      "\u202e",
      "日本",
    ];
    const millisecondsOf = (text: string): number => cpuMsOf(() => void redactSecrets(text, findSecrets(text)));
    millisecondsOf(fill("warm up, ", bytes * times));
    for (const piece of hostile) {
      // In turns, and the quickest of each: what else the machine does counts for both. Below a millisecond the processor's time is not told exactly.
      const laps = Array.from({ length: 3 }, () => [bytes, bytes * times].map((length) => millisecondsOf(fill(piece, length))) as [number, number]);
      const quickest = (of: 0 | 1): number => Math.max(1, ...[Math.min(...laps.map((lap) => lap[of]))]);
      // Work that grows with the square of the length would take 64 times as long.
      expect(quickest(1) / quickest(0), JSON.stringify(piece.slice(0, 20))).toBeLessThan(4 * times);
    }
  });
});

const secret = `ghp_${letters(36)}`;
const marker = "[redacted:github-token]";

/** Everything the store holds, as one text: entries, history, request keys. */
async function everythingIn({ base, engine }: TestTools): Promise<string> {
  const texts: string[] = [];
  for (const query of [{ part: "log", after: 0 }, { part: "keys" }, { part: "requests", after: { keptUntilMs: 0 } }] as const)
    texts.push(JSON.stringify(await engine.dump(base.store.namespace, query)));
  return texts.join("\n");
}

/** A call of every tool that writes, with a secret in a place where text may stand; what it answers is no matter. */
const lostEffect = { name: "lost", tool: "pay", args: null };

const carriers: Readonly<Record<string, (text: string) => Record<string, unknown>>> = {
  state_set: (text) => ({ key: "config", value: { deep: [{ token: text }] } }),
  state_commit: (text) => ({ writes: [{ key: "config", value: `uses ${text}` }] }),
  set_state: (text) => ({ key: "config", value: JSON.stringify({ token: text }) }),
  force_set_state: (text) => ({ key: "config", value: JSON.stringify({ token: text }) }),
  workflow_create: (text) => ({ name: "deploy", input: { token: text } }),
  workflow_checkpoint: (text) => ({ run_id: "run-1", step: 1, output: [text] }),
  workflow_finish: (text) => ({ run_id: "run-1", status: "failed", error: { message: text } }),
  effects: (reason) => ({ id: effectId(lostEffect), as: "done", reason }),
  session_save: (text) => ({ session_id: "s1", context: { note: text } }),
  checkpoint: (text) => ({ action: "save", description: `signed in with ${text}`, workspace: "w" }),
  save_checkpoint: (text) => ({ core_question: "which key?", thesis: `it is ${text}`, confidence: 0.5, workspace: "w" }),
  save_knowledge: (text) => ({ id: "key", content: `The key is ${text}` }),
};

describe("the switch for secrets", () => {
  test("off, they are stored as they are", async () => {
    const tools = openTools();
    await tools.call("state_set", { key: "config", value: secret });
    expect((await tools.call("state_get", { key: "config" })).value).toBe(secret);
  });

  test.each(Object.entries(carriers))("refuse: %s says where, not what, and stores nothing", async (name, args) => {
    const tools = openTools({ server: { secrets: "refuse" } });
    const error = await tools.fails(name, args(secret));
    expect(error).toMatchObject({ code: "invalid_input", details: { kind: "github-token" } });
    expect(error.message).toMatch(/looks like a secret \(github-token\)/);
    expect(JSON.stringify([error, tools.logged])).not.toContain(secret);
    expect((await tools.outcome(name, args("nothing secret"))).ok || !/secret/.test(JSON.stringify(await tools.outcome(name, args("nothing secret"))))).toBe(true);
  });

  test("refuse: the place is named down to the member of a list", async () => {
    const tools = openTools({ server: { secrets: "refuse" } });
    expect((await tools.fails("state_set", { key: "config", value: { deep: ["x", { token: secret }] } })).details?.field).toBe("value.deep[1].token");
    expect(
      (
        await tools.fails("state_commit", {
          writes: [
            { key: "a", value: 1 },
            { key: secret, value: 1 },
          ],
        })
      ).details?.field,
    ).toBe("writes[1].key");
    expect((await tools.fails("state_set", { key: "config", value: { [secret]: 1 } })).details?.field).toBe("value.(a member's name)");
    expect((await tools.fails("state_set", { key: "config", value: { aws_secret_access_key: letters(40) } })).details).toMatchObject({
      field: "value.aws_secret_access_key",
      kind: "aws-secret-key",
    });
  });

  test.each(Object.entries(carriers))("redact: %s keeps everything but the secret, in the store, its history and its copies", async (name, args) => {
    const folder = await temporaryFolder();
    const tools = openTools({ server: { secrets: "redact", mirror: await openMirror({ checkpointDir: folder, knowledgeDir: folder, namespace: "test" }) } });
    await tools.call("workflow_create", { name: "deploy", run_id: "run-1" });
    await tools.call("workflow_claim", { run_id: "run-1", agent_id: "worker" });
    await beginEffect(tools.base, { identity: lostEffect, liveMs: 1 });
    tools.clock.advance(1);
    const outcome = await tools.outcome(
      name,
      { ...args(secret), ...(name.startsWith("workflow_c") || name === "workflow_finish" ? (name === "workflow_create" ? {} : { agent_id: "worker" }) : {}) },
      { requestKey: "once" },
    );
    expect(outcome).toMatchObject({ ok: true });
    const stored = await everythingIn(tools);
    expect(stored).toContain(marker);
    expect(stored).not.toContain(secret);
    expect(stored).not.toContain(secret.slice(4).toLowerCase());
    expect(JSON.stringify([outcome, tools.logged])).not.toContain(secret);
    for (const file of await readdir(folder, { recursive: true, withFileTypes: true }))
      if (file.isFile()) expect(await readFile(join(file.parentPath, file.name), "utf8")).not.toContain(secret);
  });

  test("redact: what stands around it stays, and a value without secrets is the very same", async () => {
    const tools = openTools({ server: { secrets: "redact" } });
    await tools.call("state_set", { key: "config", value: { url: "postgres://app:hunter2@db/x", [secret]: [1, null, true, "y"], list: [{ id: secret }] } });
    expect((await tools.call("state_get", { key: "config" })).value).toEqual({
      url: "postgres://app:[redacted:url-password]@db/x",
      [marker]: [1, null, true, "y"],
      list: [{ id: marker }],
    });
    const value = JSON.parse('{"__proto__": 1, "a": ["b"]}');
    await tools.call("state_set", { key: "other", value });
    expect(JSON.stringify((await tools.call("state_get", { key: "other" })).value)).toBe(JSON.stringify(value));
  });

  test("redact: the same request again is the same request, and a note is found by its other words, not by the secret", async () => {
    const tools = openTools({ server: { secrets: "redact" } });
    const args = { id: "key", content: `Deployments sign in with ${secret} every night` };
    const first = await tools.call("save_knowledge", args, { requestKey: "once" });
    expect(await tools.call("save_knowledge", args, { requestKey: "once" })).toEqual(first);
    expect((await tools.call("recall_knowledge", { query: "deployments night" })).items).toHaveLength(1);
    expect((await tools.call("recall_knowledge", { query: secret })).items).toHaveLength(0);
  });

  test.each(["refuse", "redact"] as const)("%s: names and request keys are refused, never rewritten: two would become one", async (secrets) => {
    const tools = openTools({ server: { secrets } });
    for (const [name, args] of [
      ["state_set", { key: secret, value: 1 }],
      ["state_commit", { writes: [{ key: secret, value: 1 }] }],
      ["lease_acquire", { resource_id: secret, holder_id: "a", ttl_seconds: 5 }],
      ["lease_acquire", { resource_id: "a", holder_id: secret, ttl_seconds: 5 }],
      ["session_save", { session_id: secret, context: {} }],
      ["workflow_create", { name: "n", tags: { team: secret } }],
      ["save_knowledge", { id: secret, content: "x" }],
    ] as const)
      expect(await tools.fails(name, args)).toMatchObject({ code: "invalid_input", details: { kind: "github-token" } });
    expect(await tools.fails("state_set", { key: "a", value: 1 }, { requestKey: secret })).toMatchObject({ details: { field: "request key" } });
  });

  test.each(["refuse", "redact"] as const)("%s: reading is as ever", async (secrets) => {
    const tools = openTools({ server: { secrets } });
    expect(await tools.call("state_get", { key: secret })).toMatchObject({ found: false });
    expect((await tools.call("recall_knowledge", { query: secret })).items).toEqual([]);
  });

  test("what is nested too deep to look into is refused by the store", async () => {
    const tools = openTools({ server: { secrets: "refuse" } });
    let value: unknown = secret;
    for (let i = 0; i < 5_000; i += 1) value = [value];
    expect((await tools.fails("state_set", { key: "deep", value })).code).toBe("limit_exceeded");
  });

  test("covers every tool that writes text, and its names are those that a person reviewed", () => {
    const writing = catalog.filter(({ effect }) => effect !== "read");
    const without = ["state_delete", "delete_state", "workflow_claim", "lease_acquire", "lease_release", "lease_renew", "sidecar_reset"];
    expect(writing.map(({ name }) => name).sort()).toEqual([...Object.keys(carriers), ...without].sort());
    const fields = new Set(writing.flatMap(({ input }) => Object.keys(input.shape)));
    expect([...fields].filter(isNameField).sort()).toEqual(
      [
        "agent_id",
        "checkpointId",
        "continues",
        "cursor",
        "holder_id",
        "id",
        "key",
        "name",
        "resource_id",
        "run_id",
        "session_id",
        "sessionId",
        "skill",
        "step",
        "supersedes",
        "tags",
        "workspace",
      ].sort(),
    );
  });
});

describe("secrets in JSON text are found in what the text stands for", () => {
  const url = "postgres://u:hunter2secret@h/db";
  const github = `ghp_${letters(36)}`;
  const awsKey = `${letters(19)}/${letters(19)}/`;
  const escaped: readonly [what: string, text: string, secret: string][] = [
    ["an escaped slash in a URL", JSON.stringify({ url }).replaceAll("/", "\\/"), "hunter2secret"],
    ["an escaped slash in a key", JSON.stringify({ aws_secret_access_key: awsKey }).replaceAll("/", "\\/"), awsKey],
    ["an escaped letter", JSON.stringify({ t: github }).replace("_", "\\u005f"), github],
    ["deep inside", JSON.stringify([{ a: [{ t: github }] }]).replace("_", "\\u005f"), github],
    ["the name of a member", JSON.stringify({ [github]: 1 }).replace("_", "\\u005f"), github],
    ["a plain string", JSON.stringify(github).replace("_", "\\u005f"), github],
    ["JSON text within JSON text", JSON.stringify(JSON.stringify({ t: github }).replace("_", "\\u005f")), github],
    ["beside one that is plain", `{"a":"AKIA${capitals(16)}","t":"${github.replace("_", "\\u005f")}"}`, github],
  ];
  const writes: readonly [tool: string, args: (text: string) => object][] = [
    ["set_state", (value) => ({ key: "k", value })],
    ["force_set_state", (value) => ({ key: "k", value })],
    ["state_set", (value) => ({ key: "k", value })],
    ["state_commit", (value) => ({ writes: [{ key: "k", value: { nested: [value] } }] })],
    ["checkpoint", (description) => ({ description })],
  ];

  test.each(escaped)("%s", async (_, text, secret) => {
    for (const [tool, args] of writes) {
      const refusing = openTools({ server: { secrets: "refuse" } });
      const refused = await refusing.fails(tool, args(text));
      expect([tool, refused.code]).toEqual([tool, "invalid_input"]);
      expect(JSON.stringify(refused)).not.toContain(secret);

      const redacting = openTools({ server: { secrets: "redact" } });
      await redacting.call(tool, args(text));
      const stored = JSON.stringify((await redacting.base.store.read({ start: "" })).entries);
      for (const form of [secret, secret.replaceAll("/", "\\\\/"), secret.replace("_", "\\\\u005f")]) expect(stored).not.toContain(form);
      expect(stored).toContain("[redacted:");
    }
  });

  test("text without a secret is stored as it came, escapes included", async () => {
    const { call } = openTools({ server: { secrets: "redact" } });
    const text = '{"path":"a\\/b",  "n":1.0}';
    await call("state_set", { key: "k", value: text });
    expect((await call("state_get", { key: "k" })).value).toBe(text);
  });
});
