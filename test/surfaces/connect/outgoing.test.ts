import { expect, test } from "vitest";
import { outgoing } from "../../../src/surfaces/connect/outgoing.ts";

const call = (params: Record<string, unknown>) => outgoing(Buffer.from("{}"), { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "state_set", ...params } });

test.each([
  [{ arguments: { key: "k", value: 1 } }, false],
  [{ arguments: { key: "k", value: 1, request_key: "once" } }, true],
  [{ arguments: { key: "k", value: 1 }, _meta: { "holdfast/request-key": "once" } }, true],
  [{ arguments: { key: "k", value: 1, request_key: "" } }, false],
  [{ arguments: { key: "k", value: 1, request_key: 5 } }, false],
  [{ arguments: { value: { request_key: "once" } } }, false],
  [{ arguments: null }, false],
  [{}, false],
])("a call %j may be sent again: %s", (params, isRepeatable) => {
  expect(call(params).isRepeatable).toBe(isRepeatable);
});
