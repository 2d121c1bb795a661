import { expect, test } from "vitest";
import { inexactNumbersIn } from "../../../src/surfaces/proxy/inexact-numbers.ts";
import { readToolRules } from "../../../src/surfaces/proxy/tool-rules.ts";

const read = (json: unknown, flags = {}) => Object.fromEntries(readToolRules({ json, origin: "rules.json" }, flags));

test("rules are read from a file, and a flag counts before it", () => {
  const pay = { kind: "effect", idempotentKeyField: "key", reconcile: "find", reconcileMember: "items", unknown: "retry", errors: "retryable" };
  expect(read({ tools: { pay, look: "read-only", a: "read-only" } }, { effect: ["a", "b"], readOnly: ["c"] })).toEqual({
    pay,
    look: { kind: "read-only" },
    a: { kind: "effect" },
    b: { kind: "effect" },
    c: { kind: "read-only" },
  });
  expect([...readToolRules(undefined)]).toEqual([]);
});

test.each([
  [[], 'rules.json: must hold an object such as {"tools": {"send_mail": "effect"}}'],
  [{ tools: {}, tool: {} }, "tool in rules.json: unknown field; allowed: tools"],
  [{ tools: { pay: "efect" } }, 'tools.pay in rules.json: must be one of effect, read-only (got "efect"; did you mean effect?)'],
  [{ tools: { pay: 1 } }, 'tools.pay in rules.json: must be "effect", "read-only" or an object'],
  [
    { tools: { pay: { idempotent: "x" } } },
    "tools.pay in rules.json: idempotent: unknown field; allowed: kind, idempotentKeyField, reconcile, reconcileMember, reconcileAbsent, unknown, errors",
  ],
  [{ tools: { pay: { unknown: "guess" } } }, "tools.pay in rules.json: unknown: must be one of ask, retry, assume-done"],
  [{ tools: { pay: { reconcile: "" } } }, "tools.pay in rules.json: reconcile: must be a name of 1 to 200 characters"],
  [{ tools: { pay: { errors: true } } }, "tools.pay in rules.json: errors: must be one of retryable"],
  [{ tools: { pay: { kind: "read-only", unknown: "ask" } } }, "tools.pay in rules.json: a read-only tool has no other fields"],
  [{ tools: { pay: { reconcileMember: "x" } } }, "tools.pay in rules.json: reconcileMember: requires reconcile"],
])("rules %j are refused", (json, problem) => {
  expect(() => read(json)).toThrow(problem);
});

test("a tool cannot be both by flag", () => {
  expect(() => read({ tools: {} }, { effect: ["a"], readOnly: ["a"] })).toThrow('--read-only-tool: "a" is also given as --effect-tool');
});

test.each([
  ['{"a":1,"b":[1.5,-2e3,0.1,1e21,123456789012345680000,1.0,-0]}', []],
  ['{"a":12345678901234567890,"b":"12345678901234567891","c":"\\"12345678901234567892"}', ["12345678901234567890"]],
  ['{"a":0.12345678901234567890123}', ["0.12345678901234567890123"]],
  ['{"a":1e400}', ["1e400"]],
  ['{"a":9007199254740993}', ["9007199254740993"]],
])("of %s the numbers %j cannot be kept exactly", (json, numbers) => {
  expect(inexactNumbersIn(json)).toEqual(numbers);
});
