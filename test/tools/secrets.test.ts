import { describe, expect, test } from "vitest";
import type { FoundSecret } from "../../src/tools/secret-shapes.ts";
import { findSecrets, redactSecrets, secretKinds } from "../../src/tools/secret-shapes.ts";

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

describe("secrets are told by their looks", () => {
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
    const mebibyte = 1_048_576;
    const fill = (piece: string): string => piece.repeat(Math.ceil(mebibyte / piece.length)).slice(0, mebibyte);
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
    const millisecondsOf = (text: string): number => {
      const beganMs = performance.now();
      redactSecrets(text, findSecrets(text));
      return performance.now() - beganMs;
    };
    millisecondsOf(fill("warm up, "));
    const figures = hostile.map((piece): [string, number] => [JSON.stringify(piece.slice(0, 20)), Math.round(millisecondsOf(fill(piece)))]);
    process.stdout.write(`milliseconds for 1 MiB of: ${figures.map(([piece, ms]) => `${piece} ${ms}`).join(", ")}\n`);
    // Twenty milliseconds at most on a quiet machine; quadratic work would take minutes.
    for (const [, ms] of figures) expect(ms).toBeLessThan(1_000);
  });
});
