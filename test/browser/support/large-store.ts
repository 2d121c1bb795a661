import { expect, test } from "vitest";
import { commitState } from "../../../src/domain/state/state.ts";
import { createRun } from "../../../src/domain/workflows/workflows.ts";
import { openEngine } from "../../../src/engines/open-store.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import type { DashboardPage } from "./dashboard-page.ts";

/** `keys` must be a multiple of 80, `runs` of 500. */
export interface StoreSize {
  readonly keys: number;
  readonly runs: number;
}

const shops = 40;
const name = (index: number) => `shop-${String(index % shops).padStart(2, "0")}/order/${String(index).padStart(6, "0")}`;

export async function fillLargeStore(url: string, { keys, runs }: StoreSize): Promise<void> {
  await using engine = await openEngine(url);
  const store = openNamespaceStore(engine, "default", systemClock);
  const scope = { store, clock: systemClock, writer: "filler" };
  for (let from = 0; from < keys; from += 128 * 32)
    await Promise.all(
      Array.from({ length: 32 }, (_, batch) => {
        const first = from + batch * 128;
        const writes = Array.from({ length: Math.max(0, Math.min(128, keys - first)) }, (_each, index) => ({
          op: "set" as const,
          key: name(first + index),
          value: { total: first + index, paid: index % 3 === 0 },
        }));
        return writes.length === 0 ? undefined : commitState(scope, { writes, expected: [], guards: [] });
      }),
    );
  for (let from = 0; from < runs; from += 500)
    await Promise.all(Array.from({ length: 500 }, (_, index) => createRun(scope, { name: `pack ${from + index}`, runId: `pack-${from + index}` })));
}

/** What holds for a store with more than one page shows, whatever its size. */
export function testLargeStore(dashboard: () => DashboardPage, { keys }: StoreSize): void {
  const keysShown = `${keys.toLocaleString("en")} keys`;

  test("a list of all keys has few rows in the page, reads on as it is scrolled, and a prefix leads anywhere at once", async () => {
    await using tab = await dashboard().open("/ns/default/keys");
    const { page } = tab;
    await page.getByText(keysShown).waitFor();
    // It may read on by itself when the end comes near, so how often it takes is not told.
    const readOnTo = async (): Promise<string> => {
      await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
      return (await page.locator(".table-body .table-row .row-link").last().textContent()) ?? "";
    };
    await expect.poll(readOnTo).toSatisfy((last: string) => last >= name(keys / 2 - ((keys / 2) % shops)));
    await expect.poll(() => page.locator(".table-body .table-row").count()).toBeLessThan(80);
    await page.evaluate(() => scrollTo(0, 0));
    await page.getByLabel("Keys that begin with").fill(name(keys - 1).slice(0, -2));
    await page.getByText(name(keys - 1)).waitFor();
    expect(tab.faults).toEqual([]);
  });

  test("its keys can be walked like folders", async () => {
    await using tab = await dashboard().open("/ns/default/keys");
    await tab.page.getByRole("link", { name: "shop-17/" }).click();
    await tab.page.getByText(`${(keys / shops).toLocaleString("en")} keys`).waitFor();
    await tab.page.locator(".chip", { hasText: "order/" }).click();
    await tab.page.getByText("shop-17/order/000017").waitFor();
    expect(new URL(tab.page.url()).searchParams.get("prefix")).toBe("shop-17/order/");
  });

  test("a change in the middle of what was scrolled through shows up without moving what is read", async () => {
    await using tab = await dashboard().open("/ns/default/keys");
    const { page } = tab;
    await page.getByText(keysShown).waitFor();
    await page.locator(".connection.live").waitFor();
    await page.evaluate(() => scrollTo(0, 2_000));
    await page.getByText("shop-00/order/002000").waitFor();
    const top = await page.evaluate(() => scrollY);
    await dashboard().call("state_set", { key: "shop-00/order/002000", value: "changed under your eyes" });
    await page.getByText("changed under your eyes").waitFor();
    expect(await page.evaluate(() => scrollY)).toBe(top);
  });
}
