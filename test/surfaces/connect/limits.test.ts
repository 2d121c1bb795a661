import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { TooLong } from "../../../src/kernel/server-events.ts";
import { readAnswerEvents } from "../../../src/surfaces/connect/read-answer.ts";
import { isInTheClear, requireTarget } from "../../../src/surfaces/connect/target.ts";

test("an event of lines without text ends like one that is too long", async () => {
  let sent = 0;
  const lines = "data\n".repeat(10_000);
  const endless = Readable.from(
    (function* () {
      for (; sent < 1_000; sent += 1) yield Buffer.from(lines);
    })(),
  ) as unknown as IncomingMessage;
  await expect(readAnswerEvents(endless).next()).rejects.toBeInstanceOf(TooLong);
  expect(sent).toBeLessThan(1_000);
});

test.each([
  ["http://holdfast.example.com", true],
  ["http://192.168.1.7:8000", true],
  ["https://holdfast.example.com", false],
  ["http://127.0.0.1:8000", false],
  ["http://localhost:8000/mcp", false],
  ["http://[::1]:8000", false],
])("what is sent to %s can be read on the way: %s", (address, expected) => {
  expect(isInTheClear(requireTarget(address))).toBe(expected);
});
