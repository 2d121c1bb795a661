import { describe, expect, test } from "vitest";
import { isTokenSecret } from "../../../src/domain/identity/tokens.ts";
import { openCommandLine } from "../../support/cli-host.ts";

const ci = ["token", "create", "--name", "ci", "--role", "write", "--namespace", "builds"];

describe("token create", () => {
  test("prints the secret alone, for a script to catch, and says beside it what it is for", async () => {
    const { run } = openCommandLine();
    const { code, stdout, stderr } = await run([...ci, "--expires", "90d"]);
    expect(code).toBe(0);
    expect(isTokenSecret(stdout.trimEnd())).toBe(true);
    expect(stderr).toMatch(/^Token [0-9a-f]{16} for ci: write in builds, valid until .* \(in 90d\)\. This is its secret, shown once:\n$/);
    expect(stderr).not.toContain(stdout.trim());
  });

  test("gives scripts everything as JSON", async () => {
    const { json, clock } = openCommandLine();
    const created = await json(...ci, "--namespace", "releases", "--expires", "1h");
    expect(created).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      name: "ci",
      role: "write",
      namespaces: ["builds", "releases"],
      created_at: clock.nowMs() / 1_000,
      created_by: "tester",
      expires_at: clock.nowMs() / 1_000 + 3_600,
      last_used_at: null,
      secret: expect.stringMatching(/^hf_[A-Za-z0-9_-]{51}$/),
    });
  });

  test("is for the namespace the command works in when none is named, and for every one when asked", async () => {
    const { json } = openCommandLine({ environment: { HOLDFAST_NAMESPACE: "team" } });
    expect(await json("token", "create", "--name", "a", "--role", "read")).toMatchObject({ namespaces: ["team"], expires_at: null });
    expect(await json("token", "create", "--name", "b", "--role", "admin", "--namespace", "*")).toMatchObject({ namespaces: "*" });
    expect(await json("--namespace", "before", "token", "create", "--name", "c", "--role", "read")).toMatchObject({ namespaces: ["before"] });
  });

  test("says when another token has the name", async () => {
    const { run, json } = openCommandLine();
    const { id } = await json(...ci);
    const { code, stderr } = await run(ci);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`${id} has the same name`)]);
  });

  const refused: [string, readonly string[], RegExp][] = [
    ["no name", ["--role", "read"], /--name: is missing/],
    ["no role", ["--name", "a"], /--role: must be one of read, write, admin/],
    ["another role", ["--name", "a", "--role", "root"], /--role: must be one of read, write, admin/],
    ["a hostile name", ["--name", "a\u001b[2J", "--role", "read"], /--name: must begin with a letter or digit/],
    ["an empty name", ["--name", "", "--role", "read"], /--name: must begin/],
    ["a namespace that cannot be", ["--name", "a", "--role", "read", "--namespace", "../x"], /--namespace: must begin/],
    ["the namespace of the system", ["--name", "a", "--role", "read", "--namespace", ".system"], /--namespace: must begin/],
    ["a star among others", ["--name", "a", "--role", "read", "--namespace", "x", "--namespace", "*"], /--namespace: '\*' .*cannot be combined/],
    ["a time that is none", ["--name", "a", "--role", "read", "--expires", "soon"], /--expires: must be a duration/],
    ["no time", ["--name", "a", "--role", "read", "--expires", "0"], /--expires: must be a duration/],
    ["too much time", ["--name", "a", "--role", "read", "--expires", "99999d"], /--expires: must be between/],
    ["an argument", ["ci", "--role", "read"], /--name: pass the name with this flag/],
  ];
  test.each(refused)("with %s is refused by the flag's name, and makes nothing", async (_what, args, words) => {
    const { run, json } = openCommandLine();
    const { code, stdout, stderr } = await run(["token", "create", ...args]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(words);
    expect(await json("token", "list")).toEqual({ tokens: [] });
  });

  test("is refused in a read-only command, as revoke is", async () => {
    const { run, json } = openCommandLine();
    const { id } = await json(...ci);
    for (const args of [ci, ["token", "revoke", id as string, "--yes"]])
      expect(await run([...args, "--read-only"])).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("read-only") });
  });
});

describe("token list", () => {
  test("shows what is valid and never a secret", async () => {
    const { run, json, clock } = openCommandLine();
    expect((await run(["token", "list"])).stdout).toContain("There are no tokens. Create one: holdfast token create");
    const { secret } = await json(...ci, "--expires", "1m");
    await json("token", "create", "--name", "Anna Nord", "--role", "admin", "--namespace", "*");
    const { stdout } = await run(["token", "list"]);
    expect(stdout.split("\n")[0]).toMatch(/^id +name +role +namespaces +created +by +expires +last used$/);
    expect(stdout).toMatch(/ci +write +builds +now +tester +in 1m +never\n/);
    expect(stdout).toMatch(/Anna Nord +admin +every namespace +now +tester +never +never\n/);
    expect(stdout + JSON.stringify(await json("token", "list"))).not.toContain(String(secret).slice(3));
    clock.advance(60_000);
    expect(await json("token", "list")).toMatchObject({ tokens: [{ name: "Anna Nord" }] });
  });
});

describe("token revoke", () => {
  test("asks first, and takes only a yes", async () => {
    const { run, json } = openCommandLine({ stdinIsTerminal: true });
    const { id } = await json(...ci);
    expect(await run(["token", "revoke", id as string], { stdin: ["n\n"] })).toMatchObject({
      code: 1,
      stdout: `Revoke the token ${id} of ci (write in builds)? [y/N] Nothing was changed.\n`,
    });
    expect(await json("token", "list")).toMatchObject({ tokens: [{ id }] });
    expect(await run(["token", "revoke", id as string], { stdin: ["y\n"] })).toMatchObject({ code: 0, stdout: expect.stringContaining(`Revoked ${id}.`) });
    expect(await json("token", "list")).toEqual({ tokens: [] });
  });

  test("requires --yes if stdin is not a terminal", async () => {
    const { run, json } = openCommandLine();
    const { id } = await json(...ci);
    expect(await run(["token", "revoke", id as string])).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes: is required") });
    expect(await json("token", "revoke", id as string, "--yes")).toEqual({ id, name: "ci", revoked: true });
    expect(await json("token", "revoke", id as string, "--yes")).toMatchObject({ error: { code: "not_found" } });
  });

  test("takes the beginning of an id, and lists the candidates where several begin so", async () => {
    const { run, json } = openCommandLine();
    const ids: string[] = [];
    for (let i = 0; i < 17; i += 1) ids.push((await json("token", "create", "--name", `agent ${i}`, "--role", "read")).id as string);
    const shared = "0123456789abcdef".split("").find((digit) => ids.filter((id) => id.startsWith(digit)).length > 1) as string;
    const { code, stderr } = await run(["token", "revoke", shared, "--yes"]);
    expect(code).toBe(3);
    for (const id of ids.filter((each) => each.startsWith(shared))) expect(stderr).toContain(id);
    expect((await json("token", "list")).tokens).toHaveLength(17);
    const [first] = ids as [string];
    const part = Array.from(first, (_, i) => first.slice(0, i + 1)).find((beginning) => ids.filter((id) => id.startsWith(beginning)).length === 1) as string;
    expect(await json("token", "revoke", part, "--yes")).toMatchObject({ id: first, revoked: true });
  });

  test("refuses a secret in the place of an id, and does not repeat it", async () => {
    const { run, json } = openCommandLine();
    const { secret } = await json(...ci);
    const { code, stdout, stderr } = await run(["token", "revoke", secret as string, "--yes"]);
    expect(code).toBe(2);
    expect(stdout + stderr).not.toContain(String(secret).slice(3));
  });
});

describe("the system namespace", () => {
  test.each([["get", "token/roll"], ["ls"], ["health"], ["set", "a", "1"], ["watch", "*"], ["doctor"]])("is none that %s works in", async (...args) => {
    const { run } = openCommandLine();
    await run(ci);
    const { code, stdout, stderr } = await run([...args, "--namespace", ".system"]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/namespace: must begin with a letter or digit/);
  });
});

test("token is in the help, and completion knows its flags and roles", async () => {
  const { run } = openCommandLine();
  expect((await run(["--help"])).stdout).toMatch(/token COMMAND +create, list, revoke/);
  expect((await run(["token", "create", "--help"])).stdout).toContain("--role ROLE");
  const { stdout } = await run(["completion", "bash"]);
  expect(stdout).toContain('"token create"*" --role") words="read write admin"');
  expect(stdout).toMatch(/"token"\) words="create list revoke"/);
});
