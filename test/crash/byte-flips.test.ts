import { afterEach, expect, test, vi } from "vitest";
import { seededRandom } from "../support/seeded-random.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A sample of byte-flips.campaign.ts with fixed places. */
const flips = 24;

afterEach(() => {
  vi.doUnmock("../../src/ledger/record-sum.ts");
  vi.doUnmock("../../src/engines/sqlite/open-checks.ts");
  vi.resetModules();
});

const isBad = ({ verdict }: { readonly verdict: string }): boolean => verdict === "silent" || verdict === "internal";

test.each(["", "-wal"] as const)("a changed byte in the store's file%s is detected or harmless", async (part) => {
  const { FlippedStore, flipBytes, tally } = await import("../support/byte-flips.ts");
  const flipped = await flipBytes(await FlippedStore.make(await temporaryFolder()), part, flips, seededRandom(7));
  expect(flipped.filter(isBad)).toEqual([]);
  expect(tally(flipped).detected).toBeGreaterThan(0);
});

test("without the checks the same judge finds silent damage", async () => {
  const never = (): void => {};
  vi.doMock("../../src/ledger/record-sum.ts", async (original) => ({ ...(await original<object>()), requireSum: never }));
  vi.doMock("../../src/engines/sqlite/open-checks.ts", () => ({ requireSound: never, requireAcknowledged: never, checkedWholeBytes: 0 }));
  vi.resetModules();
  const { FlippedStore, flipBytes, tally } = await import("../support/byte-flips.ts");
  const store = await FlippedStore.make(await temporaryFolder());
  for (const part of ["", "-wal"] as const) expect(tally(await flipBytes(store, part, flips, seededRandom(7))).silent).toBeGreaterThan(0);
});
