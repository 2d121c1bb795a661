import { describe, expect, test } from "vitest";
import { leaseKeys } from "../../src/domain/keyspace.ts";
import { openHolderChore } from "../../src/domain/leases/forget-holders.ts";
import { guard, leaseRanges, toLease } from "../../src/domain/leases/lease.ts";
import { acquireLease, listLeases, releaseLease, renewLease } from "../../src/domain/leases/leases.ts";
import { setState } from "../../src/domain/state/state.ts";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import { everything } from "../../src/store/ranges.ts";
import type { Entry } from "../../src/store/store.ts";
import { openScope, passTime, settle } from "../support/scope.ts";

const deploy = { resource: "deploy", ttlMs: 10_000 };

describe("a lease", () => {
  test("has one holder at a time, and says who it is", async () => {
    const scope = openScope();
    expect(await acquireLease(scope, { ...deploy, holder: "a" })).toMatchObject({ ok: true, holder: "a", renewed: false });
    expect(await acquireLease(scope, { ...deploy, holder: "b" })).toMatchObject({ ok: false, heldBy: "a", expiresAtMs: scope.clock.nowMs() + 10_000 });
  });

  test("is given to exactly one of many racers", async () => {
    const scope = openScope();
    const results = await Promise.all(Array.from({ length: 32 }, (_, i) => acquireLease(scope, { ...deploy, holder: `racer-${i}` })));
    expect(results.filter((result) => result.ok)).toHaveLength(1);
  });

  test("keeps its token when its holder acquires again, with the new time to live", async () => {
    const scope = openScope();
    const first = await acquireLease(scope, { ...deploy, holder: "a" });
    scope.clock.advance(4_000);
    const again = await acquireLease(scope, { ...deploy, holder: "a", ttlMs: 20_000 });
    expect(again).toMatchObject({ ok: true, renewed: true, token: first.ok && first.token, expiresAtMs: scope.clock.nowMs() + 20_000 });
  });

  test("is read back with everything that its holder stored, and with the time to live of the last renewal", async () => {
    const scope = openScope();
    await acquireLease(scope, { ...deploy, holder: "a", workspace: "shop" });
    await renewLease(scope, { ...deploy, holder: "a", ttlMs: 20_000 });
    const { entries } = await scope.store.read(leaseRanges("deploy"));
    const [holder, deadline] = [leaseKeys.holder("deploy"), leaseKeys.deadline("deploy")].map((key) => entries.find((entry) => entry.key === key));
    expect(toLease(deadline as Entry, holder)).toMatchObject({ resource: "deploy", holder: "a", workspace: "shop", ttlMs: 20_000 });
  });

  test("lapses to the millisecond and then belongs to the next holder, with a larger token", async () => {
    const scope = openScope();
    const first = await acquireLease(scope, { ...deploy, holder: "a" });
    scope.clock.advance(9_999);
    expect((await acquireLease(scope, { ...deploy, holder: "b" })).ok).toBe(false);
    scope.clock.advance(1);
    const second = await acquireLease(scope, { ...deploy, holder: "b" });
    expect(second.ok && first.ok && second.token > first.token).toBe(true);
  });

  test("renews only for its live holder and its current token", async () => {
    const scope = openScope();
    const taken = await acquireLease(scope, { ...deploy, holder: "a" });
    const token = taken.ok ? taken.token : 0;
    expect(await renewLease(scope, { ...deploy, holder: "b" })).toEqual({ ok: false, heldBy: "a" });
    expect(await renewLease(scope, { ...deploy, holder: "a", token: token + 1 })).toMatchObject({ ok: false });
    scope.clock.advance(5_000);
    expect(await renewLease(scope, { ...deploy, holder: "a", token })).toEqual({ ok: true, token, expiresAtMs: scope.clock.nowMs() + 10_000 });
    scope.clock.advance(10_000);
    expect(await renewLease(scope, { ...deploy, holder: "a" })).toEqual({ ok: false, heldBy: undefined });
  });

  test("is released once, by its holder only", async () => {
    const scope = openScope();
    const taken = await acquireLease(scope, { ...deploy, holder: "a" });
    expect(await releaseLease(scope, { resource: "deploy", holder: "b" })).toEqual({ released: false });
    expect(await releaseLease(scope, { resource: "deploy", holder: "a", token: 999 })).toEqual({ released: false });
    expect(await releaseLease(scope, { resource: "deploy", holder: "a", token: taken.ok ? taken.token : 0 })).toEqual({ released: true });
    expect(await releaseLease(scope, { resource: "deploy", holder: "a" })).toEqual({ released: false });
    expect((await listLeases(scope, { limit: 10 })).leases).toEqual([]);
  });

  test("guards a write across renewals, and refuses it once another holds the lease", async () => {
    const scope = openScope();
    const taken = await acquireLease(scope, { ...deploy, holder: "a" });
    const ours = guard("deploy", taken.ok ? taken.token : 0);
    await renewLease(scope, { ...deploy, holder: "a" });
    expect(await setState(scope, { key: "release", value: "v1", guard: ours })).toMatchObject({ ok: true });
    scope.clock.advance(10_000);
    await expect(setState(scope, { key: "release", value: "lapsed", guard: ours })).rejects.toSatisfy((error) => isHoldfastError(error, "lease_lost"));
    await acquireLease(scope, { ...deploy, holder: "b" });
    await expect(setState(scope, { key: "release", value: "stale", guard: ours })).rejects.toSatisfy((error) => isHoldfastError(error, "lease_lost"));
  });
});

describe("waiting in line", () => {
  test("serves waiters first come, first served, and lets no newcomer overtake", async () => {
    const scope = openScope();
    await acquireLease(scope, { ...deploy, holder: "a" });
    const order: string[] = [];
    const wait = (holder: string) => acquireLease(scope, { ...deploy, holder, waitMs: 50_000 }).then((result) => (result.ok ? order.push(holder) : undefined));
    const b = wait("b");
    await settle();
    const c = wait("c");
    await settle();
    await releaseLease(scope, { resource: "deploy", holder: "a" });
    // A newcomer in the very moment the lease is free must not get it before those in line.
    const newcomer = await acquireLease(scope, { ...deploy, holder: "newcomer" });
    expect(newcomer.ok).toBe(false);
    await b;
    expect(order).toEqual(["b"]);
    await releaseLease(scope, { resource: "deploy", holder: "b" });
    await c;
    expect(order).toEqual(["b", "c"]);
    expect((await acquireLease(scope, { ...deploy, holder: "newcomer" })).ok).toBe(false);
  });

  test("takes over from a holder that lapses silently", async () => {
    const scope = openScope();
    await acquireLease(scope, { ...deploy, holder: "a" });
    const waiting = acquireLease(scope, { ...deploy, holder: "b", waitMs: 30_000 });
    await passTime(scope.clock, 11_000);
    expect(await waiting).toMatchObject({ ok: true, holder: "b" });
  });

  test("ends with the place in line when the time is up, and leaves the line", async () => {
    const scope = openScope();
    await acquireLease(scope, { ...deploy, holder: "a", ttlMs: 60_000 });
    const waiting = acquireLease(scope, { ...deploy, holder: "b", waitMs: 5_000 });
    await passTime(scope.clock, 5_001);
    expect(await waiting).toMatchObject({ ok: false, heldBy: "a", queuePosition: 1 });
    const { entries } = await scope.store.read({ start: "lease/queue/", end: "lease/queue0" });
    expect(entries).toEqual([]);
  });

  test("skips a waiter that died", async () => {
    const scope = openScope();
    await acquireLease(scope, { ...deploy, holder: "a", ttlMs: 60_000 });
    // A crashed waiter: its ticket is there, but nobody keeps it alive.
    await scope.store.commit({
      writer: "tester",
      writes: [{ op: "put", key: "lease/waiting/deploy", value: true, ttlMs: 6_000 }],
    });
    await releaseLease(scope, { resource: "deploy", holder: "a" });
    expect((await acquireLease(scope, { ...deploy, holder: "b" })).ok).toBe(false);
    scope.clock.advance(6_000);
    expect((await acquireLease(scope, { ...deploy, holder: "b" })).ok).toBe(true);
  });

  test("a free lease is not refused because of a waiter that left", async () => {
    const scope = openScope();
    await acquireLease(scope, { ...deploy, holder: "a" });
    const waiting = acquireLease(scope, { ...deploy, holder: "b", waitMs: 300 });
    await passTime(scope.clock, 400, 100);
    expect((await waiting).ok).toBe(false);
    await releaseLease(scope, { resource: "deploy", holder: "a" });
    expect(await acquireLease(scope, { ...deploy, holder: "c" })).toMatchObject({ ok: true, holder: "c" });
  });

  test("one who leaves does not take away the sign that others still wait", async () => {
    const scope = openScope();
    await acquireLease(scope, { ...deploy, holder: "a" });
    const short = acquireLease(scope, { ...deploy, holder: "b", waitMs: 300 });
    const long = acquireLease(scope, { ...deploy, holder: "c", waitMs: 50_000 });
    await passTime(scope.clock, 400, 100);
    expect((await short).ok).toBe(false);
    await releaseLease(scope, { resource: "deploy", holder: "a" });
    expect((await acquireLease(scope, { ...deploy, holder: "newcomer" })).ok).toBe(false);
    expect(await long).toMatchObject({ ok: true, holder: "c" });
  });

  test("two calls of one holder in line both end with its lease", async () => {
    const scope = openScope();
    await acquireLease(scope, { ...deploy, holder: "a" });
    const both = Promise.all([1, 2].map(() => acquireLease(scope, { ...deploy, holder: "b", waitMs: 30_000 })));
    await settle();
    await releaseLease(scope, { resource: "deploy", holder: "a" });
    await settle(200);
    const [first, second] = await both;
    expect([first?.ok, second?.ok]).toEqual([true, true]);
    expect(first?.ok && second?.ok && first.token === second.token).toBe(true);
  });

  test("nothing is given to a caller that is gone", async () => {
    const scope = openScope();
    await acquireLease(scope, { ...deploy, holder: "a" });
    const stop = new AbortController();
    const gone = acquireLease({ ...scope, signal: stop.signal }, { ...deploy, holder: "gone", waitMs: 50_000 });
    await settle();
    stop.abort();
    await releaseLease(scope, { resource: "deploy", holder: "a" });
    expect((await gone).ok).toBe(false);
    expect((await listLeases(scope, { limit: 10 })).leases).toEqual([]);
  });

  test("stops when the caller cancels", async () => {
    const scope = openScope();
    await acquireLease(scope, { ...deploy, holder: "a" });
    const stop = new AbortController();
    const waiting = acquireLease({ ...scope, signal: stop.signal }, { ...deploy, holder: "b", waitMs: 50_000 });
    await settle();
    stop.abort();
    expect(await waiting).toMatchObject({ ok: false });
  });
});

test("a request key makes acquiring safe to repeat, also for a refusal", async () => {
  const scope = openScope();
  const request = { key: "req-1", fingerprint: "f" };
  const first = await acquireLease({ ...scope, request }, { ...deploy, holder: "a" });
  await releaseLease(scope, { resource: "deploy", holder: "a" });
  expect(await acquireLease({ ...scope, request }, { ...deploy, holder: "a" })).toEqual(first);
  expect((await listLeases(scope, { limit: 10 })).leases).toEqual([]);
});

test("names of run claims are not plain leases", async () => {
  await expect(acquireLease(openScope(), { resource: "workflow/r", holder: "a", ttlMs: 10 })).rejects.toMatchObject({ code: "invalid_input" });
});

test("the day counts from the lapse, not from the day the lease was taken", async () => {
  const scope = openScope();
  await acquireLease(scope, { ...deploy, holder: "a" });
  for (let hour = 0; hour < 30; hour += 1) {
    await renewLease(scope, { ...deploy, holder: "a", ttlMs: 3_700_000 });
    scope.clock.advance(3_600_000);
  }
  scope.clock.advance(200_000);
  const chore = openHolderChore();
  await chore(scope.store);
  expect((await scope.store.read(everything)).entries).toHaveLength(1);
});

test("the last holder of a lapsed lease is forgotten after a day, and tokens still grow", async () => {
  const scope = openScope();
  const first = await acquireLease(scope, { ...deploy, holder: "a" });
  const chore = openHolderChore();
  scope.clock.advance(25 * 3_600_000);
  await chore(scope.store);
  expect((await scope.store.read(everything)).entries).toEqual([]);
  const next = await acquireLease(scope, { ...deploy, holder: "b" });
  expect(next.ok && first.ok && next.token > first.token).toBe(true);
});
