import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { expect, onTestFinished, test, vi } from "vitest";
import { createToken, readTokenBySecret } from "../../src/domain/identity/tokens.ts";
import { systemNamespace, tokenKeys } from "../../src/domain/keyspace.ts";
import type { JsonObject } from "../../src/kernel/json.ts";
import { openReservedStore } from "../../src/store/namespace-store.ts";
import { openScope } from "../support/scope.ts";

/** Records every comparison that anybody in this process makes until the test ends. */
function spyOnComparisons() {
  const spy = vi.spyOn(crypto, "timingSafeEqual");
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
  return spy.mock;
}

test("a secret is compared in constant time, as a whole hash, whether it is right or wrong", async () => {
  const comparisons = spyOnComparisons();
  const { engine, clock } = openScope();
  const scope = { store: openReservedStore(engine, systemNamespace, clock), clock, writer: "tester" };
  const { token, secret } = await createToken(scope, { name: "ci", role: "read", namespaces: "*" });
  expect(await readTokenBySecret(scope, secret)).toBeDefined();
  // Its id still leads to the record, whose hash is now another's: one bit at the very beginning.
  const [{ hash, ...rest }] = (await scope.store.read(tokenKeys.all)).entries.map(({ value }) => value) as [JsonObject & { readonly hash: string }];
  const changed = (Number.parseInt(hash[0] as string, 16) ^ 1).toString(16) + hash.slice(1);
  await scope.store.commit({ writes: [{ op: "put", key: tokenKeys.record(token.id), value: { ...rest, hash: changed } }], writer: "tester" });
  expect(await readTokenBySecret(scope, secret)).toBeUndefined();
  const compared = comparisons.calls.map(([stored, given]) => [stored.byteLength, given.byteLength]);
  expect(compared).toEqual([
    [32, 32],
    [32, 32],
  ]);
  expect(comparisons.results.map(({ value }) => value)).toEqual([true, false]);
});
