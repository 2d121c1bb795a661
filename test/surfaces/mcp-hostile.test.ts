import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { LineReader } from "../../src/surfaces/mcp/line-reader.ts";
import { unsentBytesMax } from "../../src/surfaces/mcp/line-writer.ts";
import { messageLimits } from "../../src/surfaces/mcp/read-message.ts";
import { callsInFlightMax } from "../../src/surfaces/mcp/tool-calls.ts";
import { manualClock } from "../support/manual-clock.ts";
import type { Era, RawConnection } from "../support/mcp-connection.ts";
import { eras, openRaw, paramsFor, shakeHands } from "../support/mcp-connection.ts";
import { until } from "../support/soon.ts";
import { untilQuiet } from "../support/until-quiet.ts";
import { WatchedEngine } from "../support/watched-engine.ts";

const call = (era: Era, name: string, args: Record<string, unknown>) => paramsFor(era, { name, arguments: args });

/** The connection still serves: a write lands and is read back. */
async function expectAlive(connection: RawConnection, era: Era): Promise<void> {
  await connection.request("tools/call", call(era, "state_set", { key: "alive", value: true }));
  const { result } = await connection.request("tools/call", call(era, "state_get", { key: "alive" }));
  expect(result.structuredContent).toMatchObject({ value: true });
}

describe.each(eras)("in the %s era, the connection outlives", (era) => {
  const cases: Record<string, (connection: RawConnection) => Promise<void>> = {
    "text that is not JSON": async (connection) => {
      connection.sendText("{nonsense\n");
      expect((await connection.answer(null)).error?.code).toBe(-32700);
    },
    "bytes that are not UTF-8": async (connection) => {
      connection.sendText(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d, 0x0a]));
      expect((await connection.answer(null)).error).toMatchObject({ code: -32700, message: expect.stringContaining("UTF-8") });
    },
    "a message above the limit, refused under its own id": async (connection) => {
      const answer = connection.request("tools/call", call(era, "state_set", { key: "k", value: "x".repeat(messageLimits.bytesMax) }));
      expect((await answer).error).toMatchObject({ code: -32600, message: expect.stringContaining(String(messageLimits.bytesMax)) });
    },
    "a line that does not end, refused once": async (connection) => {
      const part = "x".repeat(1_048_576);
      for (let bytes = 0; bytes <= messageLimits.refusableBytesMax * 1.5; bytes += part.length) connection.sendText(part);
      connection.sendText("\n");
      expect((await connection.answer(null)).error?.code).toBe(-32600);
      await expectAlive(connection, era);
      expect(connection.lines.filter((line) => line.includes('"id":null'))).toHaveLength(1);
    },
    "deep nesting": async (connection) => {
      const deep = `${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}`;
      connection.sendText(`{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{"name":"state_set","arguments":{"key":"k","value":${deep}}}}\n`);
      expect((await connection.answer("deep")).error).toMatchObject({ code: -32600, message: expect.stringContaining("nested") });
    },
    "nesting that only looks deep": async (connection) => {
      const text = `\\"${"[{".repeat(10_000)}\\`;
      const { result } = await connection.request("tools/call", call(era, "state_set", { key: "k", value: [text, '"'] }));
      expect(result.structuredContent).toMatchObject({ ok: true });
    },
    "messages of the wrong shape": async (connection) => {
      for (const wrong of [
        "[]",
        "5",
        "null",
        '"x"',
        "{}",
        '{"jsonrpc":"1.0","method":"ping"}',
        '{"jsonrpc":"2.0"}',
        '{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
        '{"jsonrpc":"2.0","id":null,"method":"ping"}',
      ]) {
        connection.sendText(`${wrong}\n`);
        expect((await connection.answer(null)).error?.code, wrong).toBe(-32600);
      }
      for (const members of [{ params: [] }, { params: 1 }, { params: { _meta: 1 } }, { params: { _meta: { progressToken: {} } } }, { method: 5 }, { extra: true }]) {
        connection.send({ jsonrpc: "2.0", id: "wrong", method: "ping", ...members });
        expect((await connection.answer("wrong")).error?.code, JSON.stringify(members)).toBe(-32600);
      }
    },
    "answers to questions nobody asked": async (connection) => {
      connection.send({ jsonrpc: "2.0", id: 5, result: {} });
      connection.send({ jsonrpc: "2.0", id: 6, error: { code: 1, message: "x" } });
    },
    "blank lines and carriage returns": async (connection) => {
      connection.sendText(`\n\n${JSON.stringify({ jsonrpc: "2.0", id: "cr", method: "tools/list", params: paramsFor(era) })}\r\n`);
      expect((await connection.answer("cr")).result.tools.length).toBeGreaterThan(0);
    },
    "two calls under one id, both answered": async (connection) => {
      for (const key of ["one", "two"]) connection.send({ jsonrpc: "2.0", id: "same", method: "tools/call", params: call(era, "state_get", { key }) });
      const answers = [await connection.answer("same"), await connection.answer("same")];
      expect(answers.map(({ result }) => result.structuredContent.key).sort()).toEqual(["one", "two"]);
    },
    "lone surrogates: kept in a value, refused in a key": async (connection) => {
      await connection.request("tools/call", call(era, "state_set", { key: "k", value: "\ud800 and \udfff" }));
      const { result } = await connection.request("tools/call", call(era, "state_get", { key: "k" }));
      expect(result.structuredContent.value).toBe("\ud800 and \udfff");
      const refused = await connection.request("tools/call", call(era, "state_set", { key: "\ud800", value: 1 }));
      expect(refused.result.structuredContent).toMatchObject({ error: { code: "invalid_input" } });
    },
    "names that objects have by birth": async (connection) => {
      for (const name of ["__proto__", "constructor", "toString"]) expect((await connection.request("tools/call", call(era, name, {}))).error?.code).toBe(-32602);
      connection.sendText(
        `{"jsonrpc":"2.0","id":"proto","method":"tools/call","params":${JSON.stringify(call(era, "state_set", { key: "k", value: "VALUE" })).replace('"VALUE"', '{"__proto__":{"polluted":true},"constructor":1}')}}\n`,
      );
      await connection.answer("proto");
      expect(({} as Record<string, unknown>).polluted).toBeUndefined();
      const { result } = await connection.request("tools/call", call(era, "state_get", { key: "k" }));
      expect(JSON.stringify(result.structuredContent.value)).toBe('{"__proto__":{"polluted":true},"constructor":1}');
    },
  };

  test.each(Object.entries(cases))("%s", async (_, attack) => {
    await using connection = openRaw();
    await shakeHands(connection, era);
    await attack(connection);
    await expectAlive(connection, era);
  });

  test("random bytes", async () => {
    await using connection = openRaw();
    await shakeHands(connection, era);
    for (let i = 0; i < 50; i += 1) connection.sendText(randomBytes(2_000));
    connection.sendText("\n");
    await expectAlive(connection, era);
  });

  test.each([true, false])("more calls at once than are allowed: the surplus is refused, the rest is answered (fast path: %s)", async (fastPath) => {
    await using engine = new MemoryEngine();
    await using connection = openRaw({ engine, fastPath });
    await shakeHands(connection, era);
    for (let id = 0; id < callsInFlightMax + 5; id += 1)
      connection.send({ jsonrpc: "2.0", id, method: "tools/call", params: call(era, "state_get", { key: "k", wait_for_version_above: 0, wait_seconds: 20 }) });
    for (let i = 0; i < 5; i += 1) {
      const { result } = await connection.next((message) => typeof message.id === "number" && message.id < 1_100);
      expect(result.structuredContent).toMatchObject({ error: { code: "unavailable" } });
    }
    await using other = openRaw({ engine });
    await shakeHands(other, era);
    await other.request("tools/call", call(era, "state_set", { key: "k", value: 1 }));
    for (let i = 0; i < callsInFlightMax; i += 1) {
      const { result } = await connection.next((message) => typeof message.id === "number" && message.id < 1_100);
      expect(result.structuredContent).toMatchObject({ value: 1 });
    }
  });
});

/** The memory engine, counting the values it gave out. */
class CountingEngine extends WatchedEngine {
  valuesRead = 0;

  override async read(...args: Parameters<MemoryEngine["read"]>): ReturnType<MemoryEngine["read"]> {
    const snapshot = await super.read(...args);
    this.valuesRead += snapshot.entries.filter(({ value }) => typeof value === "string" && value.length > 1_000).length;
    return snapshot;
  }
}

describe("a line reader", () => {
  const read = (chunks: readonly Buffer[], bytesMax: number) => {
    const lines: string[] = [];
    const overlong: true[] = [];
    // Holds back every other time it is asked.
    let asked = 0;
    const mayTake = (): boolean => {
      asked += 1;
      return asked % 2 === 0;
    };
    const reader = new LineReader({ mayTake, onLine: (line) => void lines.push(line.toString("latin1")), onOverlong: () => void overlong.push(true) }, bytesMax);
    for (const chunk of chunks) reader.push(chunk);
    while (!reader.resume());
    reader.end();
    return { lines, overlong: overlong.length };
  };

  test("gives the same lines however the bytes are cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom("a", "b", "\n"), maxLength: 30 }), { maxLength: 8 }),
        fc.array(fc.nat(5), { minLength: 1, maxLength: 40 }),
        (parts, cuts) => {
          const text = parts.join("");
          const chunks: Buffer[] = [];
          for (let at = 0, i = 0; at < text.length; i += 1) {
            const length = (cuts[i % cuts.length] as number) + 1;
            chunks.push(Buffer.from(text.slice(at, at + length)));
            at += length;
          }
          const expected = text.split("\n").filter((line) => line !== "");
          const { lines, overlong } = read(chunks, 6);
          expect(lines).toEqual(expected.filter((line) => line.length <= 6));
          expect(overlong).toBe(expected.filter((line) => line.length > 6).length);
        },
      ),
    );
  });
});

describe("the end", () => {
  test("calls in flight when the client closes its end are still answered", async () => {
    const connection = openRaw();
    connection.send({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } } });
    for (let id = 2; id < 20; id += 1) connection.send({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "state_set", arguments: { key: "k", value: id } } });
    connection.send({ jsonrpc: "2.0", id: 20, method: "resources/list" });
    // The last line comes without its line break.
    connection.sendText(JSON.stringify({ jsonrpc: "2.0", id: 21, method: "ping" }));
    connection.stdin.end();
    await connection.served;
    expect(connection.lines.map((line) => JSON.parse(line).id).sort((a, b) => a - b)).toEqual(Array.from({ length: 21 }, (_, i) => i + 1));
  });

  test.each([true, false])("calls that only wait are cut short at once and answered, a write beside them lands (fast path: %s)", async (fastPath) => {
    // Time stands still: nothing that is waited for can be over, neither the calls' own time nor that which calls at work are given.
    const clock = manualClock();
    await using engine = new MemoryEngine(clock);
    const connection = openRaw({ engine, clock, fastPath });
    await shakeHands(connection, "handshake");
    const send = (id: number, name: string, args: Record<string, unknown>) => connection.send({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } });
    await connection.request("tools/call", { name: "lease_acquire", arguments: { resource_id: "r", holder_id: "other", ttl_seconds: 600 } });
    const before = clock.sleeping();
    send(1, "state_get", { key: "k", wait_for_version_above: 0, wait_seconds: 50 });
    send(2, "lease_acquire", { resource_id: "r", holder_id: "me", ttl_seconds: 600, wait_seconds: 50 });
    await until(() => clock.sleeping() >= before + 2);
    send(3, "state_set", { key: "written", value: 1 });
    // The last call, which has no line break, begins when the input has ended.
    connection.sendText(
      JSON.stringify({ jsonrpc: "2.0", id: 4, method: "tools/call", params: { name: "state_get", arguments: { key: "k", wait_for_version_above: 0, wait_seconds: 50 } } }),
    );
    connection.stdin.end();
    const answers = await Promise.all([1, 2, 3, 4].map((id) => connection.answer(id)));
    await connection.served;
    expect(answers.map(({ result }) => result.structuredContent)).toMatchObject([{ found: false }, { acquired: false }, { ok: true }, { found: false }]);
  });

  test("a client that stops reading for good ends the connection, not the process", async () => {
    const connection = openRaw();
    await shakeHands(connection, "handshake");
    connection.stdout.destroy(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
    await connection.served;
    connection.send({ jsonrpc: "2.0", id: 1, method: "ping" });
  });

  describe.each([true, false])("a client that sends many calls at once and does not read (fast path: %s)", (fastPath) => {
    /** More than the limits below let through at once. */
    const calls = 130;
    /** An answer has these as text within text: four bytes for each quote, and two more in the structured part. */
    const value = '"'.repeat(50_000);
    const answerBytes = value.length * 6;
    const kinds: Record<string, (id: number) => [name: string, args: Record<string, unknown>]> = {
      reads: () => ["state_get", { key: "k" }],
      lists: () => ["state_list", { values: true }],
      "writes that show what stands in their way": () => ["state_set", { key: "k", value: 1, expected_version: 9 }],
      "calls that wait, woken by one write": () => ["state_get", { key: "k", wait_for_version_above: 1, wait_seconds: 50 }],
    };

    test.each(Object.entries(kinds))("%s: what is read for it and what is made for it stay within limits, and all is answered in the end", async (kind, ask) => {
      await using engine = new CountingEngine();
      const connection = openRaw({ engine, fastPath });
      await shakeHands(connection, "handshake");
      await connection.request("tools/call", { name: "state_set", arguments: { key: "k", value } });
      connection.stdout.pause();
      const settled = () => untilQuiet(() => [engine.valuesRead, engine.watchers, connection.stdout.writableLength, connection.stdin.readableLength]);
      const lines = Array.from({ length: calls }, (_, id) => {
        const [name, args] = ask(id);
        return JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } });
      });
      connection.sendText(`${lines.join("\n")}\n`);
      if (kind.startsWith("calls that wait")) {
        await settled();
        await using other = openRaw({ engine });
        await shakeHands(other, "handshake");
        engine.valuesRead = 0;
        await other.request("tools/call", { name: "state_set", arguments: { key: "k", value } });
      }
      await settled();
      // 64 calls at work, and for those that are woken as many that were answered before the output was full.
      expect(engine.valuesRead).toBeLessThan(64 + 2 * (unsentBytesMax / answerBytes) + 4);
      expect(connection.stdout.writableLength).toBeLessThan(unsentBytesMax + 2 * answerBytes);
      connection.stdout.resume();
      const answers = await Promise.all(Array.from({ length: calls }, (_, id) => connection.answer(id)));
      for (const { result } of answers) expect(result.structuredContent.error).toBeUndefined();
      connection.stdin.end();
      await connection.served;
    });
  });

  test("answers pile up only to a limit when the client does not read", async () => {
    const connection = openRaw();
    await shakeHands(connection, "handshake");
    await connection.request("tools/call", { name: "state_set", arguments: { key: "k", value: "x".repeat(1_000_000) } });
    connection.stdout.pause();
    const ask = (id: number) => connection.send({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "state_get", arguments: { key: "k" } } });
    let id = 0;
    while (!connection.stdin.isPaused() && id < 500) {
      id += 1;
      ask(id);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(id).toBeLessThan(100);
    connection.stdout.resume();
    for (let i = 1; i <= id; i += 1) await connection.answer(i);
    connection.stdin.end();
    await connection.served;
  });
});

describe.each([true, false])("batches (fast path: %s)", (fastPath) => {
  const opened = async (protocolVersion: string): Promise<RawConnection> => {
    const connection = openRaw({ fastPath });
    await connection.request("initialize", { protocolVersion, capabilities: {}, clientInfo: { name: "raw", version: "1" } });
    connection.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    return connection;
  };
  const message = (id: string, method: string, params?: object) => ({ jsonrpc: "2.0", id, method, params });

  test("are taken where 2025-03-26 was agreed on, and every message in them is answered", async () => {
    await using connection = await opened("2025-03-26");
    connection.send([
      message("set", "tools/call", { name: "state_set", arguments: { key: "k", value: 1 } }),
      { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "nobody" } },
      message("list", "resources/list"),
      { jsonrpc: "2.0", id: "wrong", method: 5 },
      [message("inner", "ping")],
    ]);
    expect((await connection.answer("set")).result.structuredContent).toMatchObject({ ok: true });
    expect((await connection.answer("list")).result.resources.length).toBeGreaterThan(0);
    expect((await connection.answer("wrong")).error?.code).toBe(-32600);
    expect((await connection.answer(null)).error?.message).toContain("Batches are not part");
    await expectAlive(connection, "handshake");
  });

  test.each([
    ["an empty one", "[]", -32600],
    ["one of too many messages", JSON.stringify(Array.from({ length: messageLimits.batchMessagesMax + 1 }, () => message("many", "ping"))), -32600],
    ["one that is nested too deep", `[${"[".repeat(100_000)}${"]".repeat(100_000)}]`, -32600],
    ["one that is cut off", '[{"jsonrpc":"2.0","id":"cut', -32700],
  ])("%s is refused", async (_what, text, code) => {
    await using connection = await opened("2025-03-26");
    connection.sendText(`${text}\n`);
    expect((await connection.answer(null)).error?.code).toBe(code);
    await expectAlive(connection, "handshake");
    expect(connection.lines.some((line) => line.includes('"many"'))).toBe(false);
  });

  test("are refused where a later revision was agreed on", async () => {
    await using connection = await opened("2025-06-18");
    connection.send([message("a", "ping")]);
    expect((await connection.answer(null)).error).toMatchObject({ code: -32600, message: expect.stringContaining("Batches are not part") });
  });
});
