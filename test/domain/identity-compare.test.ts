import type * as Crypto from "node:crypto";
import { timingSafeEqual } from "node:crypto";
import { expect, test, vi } from "vitest";
import { createToken, readTokenBySecret } from "../../src/domain/identity/tokens.ts";
import { systemNamespace, tokenKeys } from "../../src/domain/keyspace.ts";
import type { JsonObject } from "../../src/kernel/json.ts";
import { openReservedStore } from "../../src/store/namespace-store.ts";
import { openScope } from "../support/scope.ts";

vi.mock("node:crypto", async (original) => {
  const crypto = await original<typeof Crypto>();
  return { ...crypto, timingSafeEqual: vi.fn(crypto.timingSafeEqual) };
});

test("a secret is compared in constant time, as a whole hash, whether it is right or wrong", async () => {
  const { engine, clock } = openScope();
  const scope = { store: openReservedStore(engine, systemNamespace, clock), clock, writer: "tester" };
  const { token, secret } = await createToken(scope, { name: "ci", role: "read", namespaces: "*" });
  expect(await readTokenBySecret(scope, secret)).toBeDefined();
  // Its id still leads to the record, whose hash is now another's: one bit at the very beginning.
  const [{ hash, ...rest }] = (await scope.store.read(tokenKeys.all)).entries.map(({ value }) => value) as [JsonObject & { readonly hash: string }];
  const changed = (Number.parseInt(hash[0] as string, 16) ^ 1).toString(16) + hash.slice(1);
  await scope.store.commit({ writes: [{ op: "put", key: tokenKeys.record(token.id), value: { ...rest, hash: changed } }], writer: "tester" });
  expect(await readTokenBySecret(scope, secret)).toBeUndefined();
  const compared = vi.mocked(timingSafeEqual).mock.calls.map(([stored, given]) => [stored.byteLength, given.byteLength]);
  expect(compared).toEqual([
    [32, 32],
    [32, 32],
  ]);
  expect(vi.mocked(timingSafeEqual).mock.results.map(({ value }) => value)).toEqual([true, false]);
});
