import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readTokenBySecret } from "../../../src/domain/identity/tokens.ts";
import { systemNamespace } from "../../../src/domain/keyspace.ts";
import { openEngine } from "../../../src/engines/open-store.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { openReservedStore } from "../../../src/store/namespace-store.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { runOnStores } from "../../transfer/cli-stores.ts";

/** A store with one key and one token. */
async function filledStore() {
  const folder = await temporaryFolder();
  const url = `sqlite:${join(folder, "store.db")}`;
  await runOnStores(["set", "color", "blue", "--store", url]);
  const { stdout } = await runOnStores(["token", "create", "--name", "ci", "--role", "write", "--store", url]);
  return { folder, url, secret: stdout.trim() };
}

async function opens(url: string, secret: string): Promise<boolean> {
  await using engine = await openEngine(url);
  return (await readTokenBySecret({ store: openReservedStore(engine, systemNamespace, systemClock) }, secret)) !== undefined;
}

describe("access tokens", () => {
  test("move with a whole store to another, and the old one gives them no more", async () => {
    const { folder, url, secret } = await filledStore();
    const to = `sqlite:${join(folder, "new.db")}`;
    const { code, stdout } = await runOnStores(["migrate", url, to]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/\(access tokens\) +\d+ +\d+ +equal\n/)]);
    expect(await opens(to, secret)).toBe(true);
    await expect(opens(url, secret)).rejects.toMatchObject({ code: "moved" });
  });

  test("stay where they are when only named namespaces are moved", async () => {
    const { folder, url, secret } = await filledStore();
    const to = `sqlite:${join(folder, "new.db")}`;
    expect((await runOnStores(["migrate", url, to, "--namespace", "default"])).code).toBe(0);
    expect([await opens(to, secret), await opens(url, secret)]).toEqual([false, true]);
  });

  test("are in an export and a backup, as hashes alone, and come with them into a store that has none when that is requested", async () => {
    const { folder, url, secret } = await filledStore();
    for (const [command, back] of [
      ["export", "import"],
      ["backup", "restore"],
    ] as const) {
      const file = join(folder, `${command}.jsonl`);
      expect((await runOnStores([command, file, "--store", url])).stdout).toMatch(/ 1 namespace and the access tokens, /);
      expect(await readFile(file, "utf8")).not.toContain(secret.slice(3));
      const to = `sqlite:${join(folder, `${back}.db`)}`;
      const asking = back === "import" ? ["--with-tokens"] : [];
      const { code, stdout } = await runOnStores([back, file, "--store", to, "--yes", ...asking]);
      expect([code, stdout]).toEqual([0, expect.stringContaining("the access tokens: ")]);
      expect(stdout).toContain("(access tokens)");
      expect(await opens(to, secret)).toBe(true);
    }
  });

  test("of another store's export are not imported with it, and the report says so", async () => {
    const { folder, url, secret } = await filledStore();
    const file = join(folder, "export.jsonl");
    await runOnStores(["export", file, "--store", url]);
    const to = `sqlite:${join(folder, "fresh.db")}`;
    const { code, stdout, stderr } = await runOnStores(["import", file, "--store", to, "--yes"]);
    expect([code, stderr]).toEqual([0, expect.stringContaining("left out: the file's access tokens; --with-tokens")]);
    expect(stdout).not.toContain("access tokens");
    expect(await opens(to, secret)).toBe(false);
    expect((await runOnStores(["get", "color", "--store", to])).stdout).toContain("blue");
  });

  test("of a file are left out, and that is said, where the store has its own: a revoked one does not come back by it", async () => {
    const { folder, url, secret } = await filledStore();
    const file = join(folder, "export.jsonl");
    await runOnStores(["export", file, "--store", url]);
    const to = `sqlite:${join(folder, "other.db")}`;
    const own = (await runOnStores(["token", "create", "--name", "own", "--role", "read", "--store", to])).stdout.trim();
    const { code, stdout, stderr } = await runOnStores(["import", file, "--store", to, "--yes", "--with-tokens"]);
    expect([code, stderr]).toEqual([0, expect.stringContaining("left out: the file's access tokens, because")]);
    expect(stdout).not.toContain("access tokens");
    expect([await opens(to, own), await opens(to, secret)]).toEqual([true, false]);
    expect((await runOnStores(["get", "color", "--store", to])).stdout).toContain("blue");
  });

  test("do not go back to an earlier moment, and do not hinder a namespace that is given another name", async () => {
    const { folder, url, secret } = await filledStore();
    const file = join(folder, "export.jsonl");
    await runOnStores(["export", file, "--store", url]);
    for (const [i, flags] of [
      ["--at", "1"],
      ["--to-namespace", "then"],
    ].entries()) {
      const to = `sqlite:${join(folder, `then-${i}.db`)}`;
      expect(await runOnStores(["restore", file, ...flags, "--store", to, "--yes"])).toMatchObject({ code: 0 });
      expect(await opens(to, secret)).toBe(false);
    }
  });

  test("cannot be named: not to export them alone, not to bring anything else in under their name", async () => {
    const { folder, url } = await filledStore();
    const file = join(folder, "export.jsonl");
    await runOnStores(["export", file, "--store", url]);
    const to = `sqlite:${join(folder, "other.db")}`;
    const refused = [
      ["export", "-", "--namespace", ".system", "--store", url],
      ["migrate", url, to, "--namespace", ".system"],
      ["import", file, "--namespace", ".system", "--store", to, "--yes"],
      ["import", file, "--namespace", "default", "--to-namespace", ".system", "--store", to, "--yes"],
      ["restore", "--in-place", "--at", "1", "--namespace", ".system", "--store", url, "--yes"],
    ];
    for (const args of refused) {
      const { code, stdout, stderr } = await runOnStores(args);
      expect([args.join(" "), code === 2 || code === 3, stdout]).toEqual([args.join(" "), true, ""]);
      expect(stderr).not.toMatch(/It has .*\.system/);
    }
    const forged = join(folder, "forged.jsonl");
    await writeFile(forged, (await readFile(file, "utf8")).replaceAll('".system"', '".other"'));
    expect(await runOnStores(["import", forged, "--store", to, "--yes"])).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(/namespace: must begin/) });
  });
});
