import { describe, expect, test } from "vitest";
import type { Principal } from "../../../src/domain/identity/principal.ts";
import { tokenLimits } from "../../../src/domain/identity/tokens.ts";
import type { CreatedToken, TokensAnswer } from "../../../src/surfaces/dashboard/api.ts";
import { openMemoryApi, person, refusalOf } from "./open-api.ts";

const admin = (name: string, namespaces: Principal["namespaces"], more: Partial<Principal> = {}): Principal => ({ name, role: "admin", namespaces, kind: "token", ...more });
const lead = admin("lead", ["team"]);
const wide = admin("ops", "*");

function openTokens() {
  const { get, post, delete: remove, clock } = openMemoryApi();
  const make = async (as: Principal, body: Record<string, unknown>): Promise<CreatedToken["token"]> =>
    (await post<CreatedToken>("/api/tokens", { name: "agent", role: "write", namespaces: ["team"], ...body }, as)).token;
  const count = async (): Promise<number> => (await get<TokensAnswer>("/api/tokens")).tokens.length;
  return { make, remove, count, clock };
}

describe("the number of tokens that one administrator creates", () => {
  test("takes no place from those who look after other namespaces, however many administrators they make of themselves", async () => {
    const { make, remove } = openTokens();
    const first = await make(lead, { name: "deputy", role: "admin" });
    for (let i = 1; i < tokenLimits.tokensWithinMax; i += 1) await make(i % 2 === 0 ? lead : admin("deputy", ["team"]), {});
    for (const maker of [lead, admin("deputy", ["team"]), admin("third", ["team"])])
      expect(await refusalOf(make(maker, {}))).toMatchObject({ code: "limit_exceeded", message: expect.stringContaining(String(tokenLimits.tokensWithinMax)) });
    await make(admin("neighbour", ["other"]), { namespaces: ["other"] });
    await make(admin("both", ["other", "third"]), { namespaces: ["other", "third"] });
    await make(wide, {});
    await make(person, {});
    await remove(`/api/tokens/${first.id}`, lead);
    // Those that others made for the same namespace are looked after too.
    expect(await refusalOf(make(lead, {}))).toMatchObject({ code: "limit_exceeded" });
  });
});

describe("the name of a token", () => {
  test("is not one under which others write beside it whom the maker does not see, in whatever letters", async () => {
    const { make, count } = openTokens();
    await make(person, { name: "Pat", namespaces: ["team", "other"] });
    await make(person, { name: "Omar", namespaces: "*" });
    for (const name of ["Pat", "pat", "Ｐat", "Omar", "omar"])
      expect([name, await refusalOf(make(lead, { name }))]).toEqual([
        name,
        { code: "invalid_input", message: expect.stringMatching(/^name: is already taken/), details: { field: "name" } },
      ]);
    expect(await count()).toBe(2);
    await make(wide, { name: "Pat" });
  });

  test("may be one that others use in namespaces out of its reach: no administrator can take names from those of other namespaces", async () => {
    const { make } = openTokens();
    await make(lead, { name: "ci" });
    expect((await make(admin("neighbour", ["other"]), { name: "ci", namespaces: ["other"] })).name).toBe("ci");
  });

  test("is not the operator's, unless the operator makes it", async () => {
    const { make } = openTokens();
    for (const maker of [lead, wide])
      for (const name of [person.name, person.name.toUpperCase()])
        expect(await refusalOf(make(maker, { name }))).toMatchObject({ code: "invalid_input", details: { field: "name" } });
    expect((await make(person, { name: person.name })).name).toBe(person.name);
  });

  test("may be the maker's own, and that of a token which it replaces", async () => {
    const { make } = openTokens();
    await make(person, { name: "lead", namespaces: ["team", "other"] });
    await make(person, { name: "ci" });
    await make(lead, { name: "ci" });
    await make(lead, { name: "lead" });
    expect(await refusalOf(make(lead, { name: "LEAD" }))).toMatchObject({ code: "invalid_input" });
  });
});

describe("a token created with a credential that expires", () => {
  test("ends no later, and the refusal says when that is", async () => {
    const { make, count, clock } = openTokens();
    const endsAtMs = clock.nowMs() + 3_600_000;
    const guest = admin("guest", "*", { kind: "jwt", expiresAtMs: endsAtMs });
    for (const expiresAtMs of [undefined, endsAtMs + 1])
      expect(await refusalOf(make(guest, { expiresAtMs }))).toMatchObject({
        code: "invalid_input",
        message: expect.stringContaining(new Date(endsAtMs).toISOString()),
        details: { field: "expiresAtMs" },
      });
    expect(await count()).toBe(0);
    expect((await make(guest, { expiresAtMs: endsAtMs })).expiresAtMs).toBe(endsAtMs);
    expect((await make(guest, { expiresAtMs: endsAtMs - 1 })).expiresAtMs).toBe(endsAtMs - 1);
    expect((await make(lead, {})).expiresAtMs).toBeUndefined();
  });
});
