import { expect, test } from "vitest";
import { readServerSettings } from "../../src/engines/postgres/server-settings.ts";
import { HoldfastError } from "../../src/kernel/errors.ts";
import { loopbackCertificate } from "../support/servers/loopback-certificate.ts";

const refusalOf = (url: string): HoldfastError => {
  try {
    readServerSettings(url);
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
  throw new Error(`${url} was accepted.`);
};

test("a URL names user, password, host, port and database, with odd characters escaped", () => {
  expect(readServerSettings("postgres://ann%40work:p%40ss%2Fw%3Ard@db.example:6543/my%20data")).toMatchObject({
    user: "ann@work",
    password: "p@ss/w:rd",
    host: "db.example",
    port: 6543,
    database: "my data",
  });
  expect(readServerSettings("postgresql://[::1]/db")).toMatchObject({ host: "::1", port: undefined, user: undefined, password: undefined });
  expect(readServerSettings("postgres://localhost/db?host=/run/postgresql")).toMatchObject({ host: "/run/postgresql" });
});

test("what the URL leaves out has its stated default", () => {
  expect(readServerSettings("postgres://localhost/db")).toMatchObject({ schema: "holdfast", connectionsMax: 8, deadlineMs: 10_000, ssl: undefined });
  expect(readServerSettings("postgres://localhost/db?schema=team_a&pool=3&deadline=1500ms")).toMatchObject({ schema: "team_a", connectionsMax: 3, deadlineMs: 1_500 });
});

test("the words for TLS mean what they mean in every PostgreSQL program", async () => {
  const { certFile } = await loopbackCertificate();
  const tls = (query: string) => readServerSettings(`postgres://localhost/db?${query}`).ssl;
  expect(tls("sslmode=disable")).toBe(false);
  expect(tls("sslmode=require")).toMatchObject({ rejectUnauthorized: false });
  expect(tls(`sslmode=require&sslrootcert=${certFile}`)).not.toHaveProperty("rejectUnauthorized");
  expect(tls(`sslmode=verify-ca&sslrootcert=${certFile}`)).toMatchObject({ ca: expect.stringContaining("BEGIN CERTIFICATE"), checkServerIdentity: expect.any(Function) });
  expect(tls(`sslmode=verify-full&sslrootcert=${certFile}`)).not.toHaveProperty("checkServerIdentity");
});

test.each([
  ["postgres://ann:hunter2@host:notaport/db", /well-formed/],
  ["postgres://ann:hunter2@host/db%", /%25/],
  ["postgres://ann:hunter2@host/db#frag", /%23/],
  ["postgres://ann:hunter2@host/db/more", /one name/],
  ["postgres://ann:hunter2@host/db?schema=Not%20Ours", /schema must/],
  ["postgres://ann:hunter2@host/db?schema=pg_catalog", /schema must/],
  ['postgres://ann:hunter2@host/db?schema="; drop', /schema must/],
  ["postgres://ann:hunter2@host/db?pool=0", /pool must/],
  ["postgres://ann:hunter2@host/db?pool=many", /pool must/],
  ["postgres://ann:hunter2@host/db?deadline=soon", /deadline must/],
  ["postgres://ann:hunter2@host/db?deadline=1ms", /deadline must/],
  ["postgres://ann:hunter2@host/db?sslmode=prefer", /sslmode must/],
  ["postgres://ann:hunter2@host/db?sslrootcert=/nowhere/ca.pem", /sslrootcert cannot be read/],
  ["postgres://ann:hunter2@host/db?prefix=x", /"prefix".*schema, pool/],
  ["postgres://ann:hunter2@host/db?pool=1&pool=2", /twice/],
])("%s is refused with what is allowed, and without the password", (url, expected) => {
  const { code, message, hint } = refusalOf(url);
  expect(code).toBe("invalid_input");
  expect(message).toMatch(/^store: /);
  expect(message).toMatch(expected);
  expect(`${message}${hint}`).not.toContain("hunter2");
});
