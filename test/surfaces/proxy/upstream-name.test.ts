import { expect, test } from "vitest";
import { nameOfAddress, nameOfCommand } from "../../../src/surfaces/proxy/upstream-name.ts";

const env = { HOME: "/folder/ann", MAIL_ACCOUNT: "ann", API_TOKEN: "one", TERM_SESSION_ID: "1", SHLVL: "1" };
const name = (changes: Partial<{ command: string; args: readonly string[]; folder: string; env: NodeJS.ProcessEnv }> = {}): string => {
  const { command, args, folder, env: given } = { command: "/bin/node", args: ["server.js"], folder: "/folder/a", env, ...changes };
  return nameOfCommand(command, args, folder, given);
};

test.each([
  ["another argument", { args: ["other.js"] }],
  ["another folder, to which a relative path in the arguments refers", { folder: "/folder/b" }],
  ["another account in the environment", { env: { ...env, MAIL_ACCOUNT: "bob" } }],
  ["another token in the environment", { env: { ...env, API_TOKEN: "two" } }],
  ["a setting more in the environment", { env: { ...env, DATABASE_URL: "x" } }],
])("one command with %s is another server", (_, changes) => {
  expect(name(changes)).not.toBe(name());
});

test.each([
  ["in another terminal", { ...env, TERM_SESSION_ID: "2", SSH_CLIENT_USER: "x", STARSHIP_SESSION_KEY: "7", SHLVL: "3", USER: "ann" }],
  ["with another store of Holdfast's", { ...env, HOLDFAST_TOKEN: "t" }],
  ["with the variables in another order", Object.fromEntries(Object.entries(env).reverse())],
])("a server has the same name after a restart %s", (_, changed) => {
  expect(name({ env: changed })).toBe(name());
});

test("a name begins with the command and shows no secret", () => {
  expect(name()).toMatch(/^node-[0-9a-f]{8}$/);
  expect(nameOfAddress(new URL("https://mail.example/mcp"), { token: "secret" })).toMatch(/^mail\.example\/mcp-[0-9a-f]{8}$/);
});

test("one address with another token is another server, and a token that its file replaces is not", () => {
  const url = new URL("https://mail.example/mcp");
  const names = [{}, { token: "one" }, { token: "two" }, { tokenFile: "/a" }, { tokenFile: "/b" }].map((credential) => nameOfAddress(url, credential));
  expect(new Set(names).size).toBe(names.length);
  expect(nameOfAddress(url, { token: "before", tokenFile: "/a" })).toBe(nameOfAddress(url, { token: "after", tokenFile: "/a" }));
});
