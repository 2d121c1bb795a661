import { SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/server";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { handshakeVersions } from "../../src/surfaces/mcp/greeting.ts";
import { manualClock } from "../support/manual-clock.ts";
import type { Era, RawConnection } from "../support/mcp-connection.ts";
import { eras, openRaw, paramsFor, shakeHands } from "../support/mcp-connection.ts";
import { brokenEnvelopes, oddRequest } from "../support/odd-requests.ts";

const versionMember = "io.modelcontextprotocol/protocolVersion";

/** One conversation; the two servers must write the same lines, byte for byte. */
type Conversation = (connection: RawConnection, era: Era) => Promise<void>;

const call = (name: string, args?: unknown, meta?: Record<string, unknown>) => ({
  name,
  ...(args === undefined ? {} : { arguments: args }),
  ...(meta === undefined ? {} : { _meta: meta }),
});

const conversations: Record<string, Conversation> = {
  "the greeting": async () => {},
  "the list of tools": async (connection, era) => void (await connection.request("tools/list", paramsFor(era))),
  "a ping": async (connection, era) => void (await connection.request("ping", paramsFor(era))),
  "a write and a read": async (connection, era) => {
    await connection.request("tools/call", paramsFor(era, call("state_set", { key: "a/b", value: { text: "line\nbreak \u2028 \ud800 é", list: [1, null, 0.1] } })));
    await connection.request("tools/call", paramsFor(era, call("state_get", { key: "a/b" })));
  },
  "a call without arguments": async (connection, era) => void (await connection.request("tools/call", paramsFor(era, call("state_list")))),
  "wrong arguments": async (connection, era) => {
    await connection.request("tools/call", paramsFor(era, call("state_set", { key: "", value: 1 })));
    await connection.request("tools/call", paramsFor(era, call("state_set", { keey: "a" })));
    await connection.request("tools/call", paramsFor(era, call("state_get", [])));
    await connection.request("tools/call", paramsFor(era, call("state_get", "text")));
    await connection.request("tools/call", paramsFor(era, { arguments: {} }));
    await connection.request("tools/call", paramsFor(era, { name: 7 }));
  },
  "an unknown tool": async (connection, era) => void (await connection.request("tools/call", paramsFor(era, call("state_sett", {})))),
  "request keys": async (connection, era) => {
    const keyed = (value: number) => paramsFor(era, call("state_set", { key: "k", value }, { "holdfast/request-key": "once" }));
    await connection.request("tools/call", keyed(1));
    await connection.request("tools/call", keyed(1));
    await connection.request("tools/call", keyed(2));
    await connection.request("tools/call", paramsFor(era, call("state_set", { key: "k", value: 3 }, { "holdfast/request-key": 3 })));
  },
  "ids of both kinds": async (connection, era) => {
    for (const id of ["text", 0, -5]) {
      connection.send({ jsonrpc: "2.0", id, method: "tools/call", params: paramsFor(era, call("state_get", { key: "k" })) });
      await connection.answer(id);
    }
  },
  "a progress token": async (connection, era) => void (await connection.request("tools/call", paramsFor(era, call("state_get", { key: "k" }, { progressToken: 5 })))),
  "a page of tools that does not exist": async (connection, era) => void (await connection.request("tools/list", paramsFor(era, { cursor: "x" }))),
  "a revision that nobody speaks": async (connection, era) => void (await connection.request("tools/list", paramsFor(era, { _meta: { [versionMember]: "2099-01-01" } }))),
  "methods nobody knows": async (connection, era) => void (await connection.request("tools/dance", paramsFor(era))),
  "state of a retry that never was": async (connection, era) => {
    await connection.request("tools/call", paramsFor(era, { ...call("state_get", { key: "k" }), requestState: 5 }));
    await connection.request("tools/call", paramsFor(era, { ...call("state_get", { key: "k" }), requestState: "x" }));
  },
  "a second handshake": async (connection) => {
    await connection.request("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "again", version: "1" } });
  },
  "a request of the other era": async (connection, era) => {
    // The first one settles the era of a connection that has only discovered so far.
    await connection.request("tools/call", paramsFor(era, call("state_get", { key: "k" })));
    await connection.request("tools/call", paramsFor(era === "handshake" ? "stateless" : "handshake", call("state_get", { key: "k" })));
    await connection.request("resources/templates/list", paramsFor(era === "handshake" ? "stateless" : "handshake"));
    await connection.request("resources/templates/list", paramsFor(era));
  },
  "broken envelopes among good ones": async (connection, era) => {
    for (const _meta of brokenEnvelopes) {
      await connection.request("tools/call", paramsFor(era, call("state_get", { key: "k" })));
      await connection.request("tools/call", call("state_get", { key: "k" }, _meta));
    }
  },
  "prompts, resources, completions": async (connection, era) => {
    await connection.request("tools/call", paramsFor(era, call("state_set", { key: "a/b", value: 1 })));
    await connection.request("prompts/list", paramsFor(era));
    await connection.request("resources/list", paramsFor(era));
    await connection.request("resources/read", paramsFor(era, { uri: "holdfast://state/a%2Fb" }));
    await connection.request("resources/read", paramsFor(era, { uri: "holdfast://state/none" }));
    await connection.request("completion/complete", paramsFor(era, { ref: { type: "ref/resource", uri: "holdfast://state/{key}" }, argument: { name: "key", value: "a" } }));
  },
  cancellation: async (connection, era) => {
    connection.send({ jsonrpc: "2.0", id: "poll", method: "tools/call", params: paramsFor(era, call("state_get", { key: "k", wait_for_version_above: 0, wait_seconds: 50 })) });
    connection.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: paramsFor(era, { requestId: "poll" }) });
    connection.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: paramsFor(era, { requestId: "never sent" }) });
    await connection.request("tools/call", paramsFor(era, call("state_get", { key: "k" })));
  },
};

describe.each(eras)("a connection of the %s era", (era) => {
  test("refuses an unknown revision, whenever it is named", async () => {
    await using connection = openRaw({ clock: manualClock() });
    await shakeHands(connection, era);
    await connection.request("tools/list", paramsFor(era));
    const { _meta } = paramsFor("stateless") as { _meta: Record<string, unknown> };
    for (const requested of ["2099-01-01", "x".repeat(1_000)]) {
      const { error } = await connection.request("tools/list", { _meta: { ..._meta, [versionMember]: requested } });
      expect(error).toMatchObject({ code: -32_022, data: { supported: ["2026-07-28"], requested: expect.stringContaining(requested.slice(0, 10)) } });
      expect(JSON.stringify(error).length).toBeLessThan(300);
    }
    expect((await connection.request("tools/list", paramsFor(era))).result.tools.length).toBeGreaterThan(1);
  });

  test.each(["tools/list", "prompts/list", "resources/list", "resources/templates/list"])("has no page of %s behind a cursor that it never gave", async (method) => {
    await using connection = openRaw({ clock: manualClock() });
    await shakeHands(connection, era);
    expect((await connection.request(method, paramsFor(era, { cursor: "not-a-cursor" }))).error?.code).toBe(-32_602);
  });
});

async function record(conversation: Conversation, era: Era, fastPath: boolean): Promise<readonly string[]> {
  const connection = openRaw({ fastPath, clock: manualClock() });
  await shakeHands(connection, era);
  await conversation(connection, era);
  connection.stdin.end();
  await connection.served;
  return connection.lines;
}

describe.each(eras)("in the %s era", (era) => {
  test.each(Object.entries(conversations))("%s: the fast path and the SDK write the same bytes", async (_, conversation) => {
    const direct = await record(conversation, era, true);
    expect(direct.length).toBeGreaterThan(0);
    expect(direct).toEqual(await record(conversation, era, false));
  });
});

test("whatever is asked in whatever order, the fast path answers like the SDK", async () => {
  const answersTo = async (requests: readonly { method: string; params: Record<string, unknown> }[], fastPath: boolean) => {
    await using connection = openRaw({ fastPath, clock: manualClock() });
    const answers: unknown[] = [];
    for (const { method, params } of requests) answers.push(await connection.request(method, params));
    return answers;
  };
  await fc.assert(
    fc.asyncProperty(fc.array(oddRequest, { minLength: 1, maxLength: 5 }), async (requests) => {
      expect(await answersTo(requests, true)).toEqual(await answersTo(requests, false));
    }),
    { numRuns: 400 },
  );
});

test.each(brokenEnvelopes.map((_meta) => [JSON.stringify(_meta), _meta] as const))(
  "a connection that opens with the envelope %s is served alike on both paths",
  async (_, _meta) => {
    const open = async (fastPath: boolean) => {
      await using connection = openRaw({ fastPath, clock: manualClock() });
      const answers = [await connection.request("tools/list", { _meta }), await connection.request("tools/list"), await connection.request("tools/list", paramsFor("stateless"))];
      return [
        ...answers,
        await connection.request("initialize", {
          protocolVersion: "2025-11-25",
          capabilities: _meta["io.modelcontextprotocol/clientCapabilities"],
          clientInfo: { name: "n", version: "1" },
        }),
      ];
    };
    expect(await open(true)).toEqual(await open(false));
  },
);

test.each(brokenEnvelopes.map((_meta) => [JSON.stringify(_meta), _meta] as const))(
  "a handshake with what the envelope %s says is answered alike on both paths",
  async (_, _meta) => {
    const greet = async (fastPath: boolean) => {
      await using connection = openRaw({ fastPath });
      return connection.request("initialize", {
        protocolVersion: _meta["io.modelcontextprotocol/protocolVersion"],
        capabilities: _meta["io.modelcontextprotocol/clientCapabilities"],
        clientInfo: _meta["io.modelcontextprotocol/clientInfo"],
      });
    };
    expect(await greet(true)).toEqual(await greet(false));
  },
);

test.each(["2024-11-05", "2025-06-18", "1999-01-01"])("a handshake that asks for %s is answered alike on both paths", async (protocolVersion) => {
  const greet = async (fastPath: boolean) => {
    await using connection = openRaw({ fastPath });
    return connection.request("initialize", {
      protocolVersion,
      capabilities: { roots: { listChanged: true }, elicitation: { form: {} } },
      clientInfo: { name: "raw", version: "1", title: "Raw" },
    });
  };
  expect(await greet(true)).toEqual(await greet(false));
});

test.each(["tools/list", "resources/templates/list", "ping"])("%s without any handshake is answered alike on both paths", async (method) => {
  const ask = async (fastPath: boolean) => {
    await using connection = openRaw({ fastPath });
    return [await connection.request(method), await connection.request("tools/list"), await connection.request("tools/list", paramsFor("stateless"))];
  };
  expect(await ask(true)).toEqual(await ask(false));
});

test("the fast path knows the handshake revisions of the SDK", () => {
  expect(handshakeVersions).toEqual(SUPPORTED_PROTOCOL_VERSIONS);
});
