import { mkdirSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { openFolderReader } from "../../src/domain/workspace/repository-reader.ts";
import { createRepository } from "../support/git-repository.ts";
import type { Answer, RawConnection } from "../support/mcp-connection.ts";
import { openRaw } from "../support/mcp-connection.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const isQuestion = ({ method }: Answer): boolean => method === "roots/list";

async function connected(folder: string, roots: object | undefined, fastPath = true): Promise<RawConnection> {
  const connection = openRaw({ fastPath, server: { surroundings: { folder, home: "/nowhere", reader: openFolderReader() } } });
  await connection.request("initialize", { protocolVersion: "2025-06-18", capabilities: roots === undefined ? {} : { roots }, clientInfo: { name: "t", version: "1" } });
  connection.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  return connection;
}
const restore = async (connection: RawConnection): Promise<string> =>
  (await connection.request("tools/call", { name: "checkpoint", arguments: {} })).result.structuredContent.meta.workspace.name;
const answerWith = async (connection: RawConnection, ...uris: readonly string[]): Promise<void> => {
  const { id } = await connection.next(isQuestion);
  connection.send({ jsonrpc: "2.0", id, result: { roots: uris.map((uri) => ({ uri })) } });
};

describe("a client's roots", () => {
  test.each([true, false])("say where the user works when the server was started in / (fast path: %s)", async (fastPath) => {
    const repository = createRepository(await temporaryFolder(), "engine");
    await using connection = await connected("/", { listChanged: true }, fastPath);
    const [name, again] = await Promise.all([restore(connection), restore(connection), answerWith(connection, "https://example.org/", pathToFileURL(repository).href)]);
    expect([name, again]).toEqual(["engine", "engine"]);
    // Known from now on: no second question.
    expect(await restore(connection)).toBe("engine");
    expect(connection.lines.filter((line) => line.includes("roots/list"))).toHaveLength(1);
  });

  test("are requested again when the client says that they changed", async () => {
    const at = await realpath(await temporaryFolder());
    const [one, other] = [createRepository(at, "one"), createRepository(at, "other")];
    await using connection = await connected("/", { listChanged: true });
    expect((await Promise.all([restore(connection), answerWith(connection, pathToFileURL(one).href)]))[0]).toBe("one");
    connection.send({ jsonrpc: "2.0", method: "notifications/roots/list_changed" });
    expect((await Promise.all([restore(connection), answerWith(connection, pathToFileURL(other).href)]))[0]).toBe("other");
  });

  test("give way to the server's own folder where it lies inside one of them", async () => {
    const at = await realpath(await temporaryFolder());
    mkdirSync(join(at, "whole"));
    const repository = createRepository(join(at, "whole"), "part");
    await using connection = await connected(repository, {});
    expect((await Promise.all([restore(connection), answerWith(connection, pathToFileURL(join(at, "whole")).href)]))[0]).toBe("part");
  });

  test("that never come hold a call up only briefly, and only once", async () => {
    const repository = createRepository(await temporaryFolder(), "engine");
    await using connection = await connected(repository, {});
    expect(await restore(connection)).toBe("engine");
    await restore(connection);
    expect(connection.lines.filter((line) => line.includes("roots/list"))).toHaveLength(1);
  });

  test("of the wrong shape are none", async () => {
    const repository = createRepository(await temporaryFolder(), "engine");
    for (const result of [null, {}, { roots: 5 }, { roots: [null, {}, { uri: 5 }, { uri: "file://%%%" }, { uri: "engine" }] }]) {
      await using connection = await connected(repository, {});
      const naming = restore(connection);
      const { id } = await connection.next(isQuestion);
      connection.send({ jsonrpc: "2.0", id, result });
      expect(await naming).toBe("engine");
    }
  });

  test("are not asked for where the client has none", async () => {
    const repository = createRepository(await temporaryFolder(), "engine");
    await using connection = await connected(repository, undefined);
    expect(await restore(connection)).toBe("engine");
    expect(connection.lines.some((line) => line.includes("roots/list"))).toBe(false);
  });
});
