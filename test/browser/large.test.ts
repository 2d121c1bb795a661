import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commitState } from "../../src/domain/state/state.ts";
import { createRun } from "../../src/domain/workflows/workflows.ts";
import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { Desk } from "./support/desk.ts";
import { buildPage, openDesk, settled } from "./support/desk.ts";

const keyCount = 100_000;
const runCount = 10_000;
const readyMsMax = 1_000;
const compressedBytesMax = 150 * 1_024;

let desk: Desk;
beforeAll(async () => {
  desk = await openDesk({ fill });
}, 120_000);
afterAll(() => desk?.[Symbol.asyncDispose]());

async function fill(url: string): Promise<void> {
  await using engine = await openEngine(url);
  const store = openNamespaceStore(engine, "default", systemClock);
  const scope = { store, clock: systemClock, writer: "filler" };
  const name = (index: number) => `shop-${String(index % 40).padStart(2, "0")}/order/${String(index).padStart(6, "0")}`;
  for (let from = 0; from < keyCount; from += 128 * 32)
    await Promise.all(
      Array.from({ length: 32 }, (_, batch) => {
        const first = from + batch * 128;
        const writes = Array.from({ length: Math.max(0, Math.min(128, keyCount - first)) }, (_each, index) => ({
          op: "set" as const,
          key: name(first + index),
          value: { total: first + index, paid: index % 3 === 0 },
        }));
        return writes.length === 0 ? undefined : commitState(scope, { writes, expected: [], guards: [] });
      }),
    );
  for (let from = 0; from < runCount; from += 500)
    await Promise.all(Array.from({ length: 500 }, (_, index) => createRun(scope, { name: `pack ${from + index}`, runId: `pack-${from + index}` })));
}

describe("a store with 100,000 keys and 10,000 runs", () => {
  const views = [
    ["overview", "/ns/default", "Commits per minute"],
    ["keys", "/ns/default/keys", "100,000 keys"],
    ["runs", "/ns/default/runs", "pack 9999"],
    ["activity", "/ns/default/activity", "pack-9999"],
  ] as const;

  test.each(views)("%s is ready within a second, from an empty cache", async (name, path, text) => {
    // The fastest of three: a machine that does something else at the moment says nothing about the page.
    let fastestMs = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < 3 && fastestMs >= readyMsMax; attempt += 1) {
      await using tab = await desk.open("about:blank");
      const fromMs = performance.now();
      await tab.page.goto(path);
      await tab.page.getByText(text).first().waitFor();
      await settled(tab.page);
      fastestMs = Math.min(fastestMs, performance.now() - fromMs);
      expect(tab.faults).toEqual([]);
    }
    console.log(`${name} ready in ${fastestMs.toFixed(0)} ms`);
    expect(fastestMs).toBeLessThan(readyMsMax);
  });

  test("a list of all keys has few rows in the page, reads on as it is scrolled, and a prefix leads anywhere at once", async () => {
    await using tab = await desk.open("/ns/default/keys");
    const { page } = tab;
    await page.getByText("100,000 keys").waitFor();
    // It may read on by itself when the end comes near, so how often it takes is not told.
    const readOnTo = async (): Promise<string> => {
      await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
      return (await page.locator(".table-body .table-row .row-link").last().textContent()) ?? "";
    };
    await expect.poll(readOnTo).toSatisfy((last: string) => last >= "shop-00/order/024000");
    await expect.poll(() => page.locator(".table-body .table-row").count()).toBeLessThan(80);
    await page.evaluate(() => scrollTo(0, 0));
    await page.getByLabel("Keys that begin with").fill("shop-39/order/0999");
    await page.getByText("shop-39/order/099999").waitFor();
    expect(tab.faults).toEqual([]);
  });

  test("its keys can be walked like folders", async () => {
    await using tab = await desk.open("/ns/default/keys");
    await tab.page.getByRole("link", { name: "shop-17/" }).click();
    await tab.page.getByText("2,500 keys").waitFor();
    await tab.page.locator(".chip", { hasText: "order/" }).click();
    await tab.page.getByText("shop-17/order/000017").waitFor();
    expect(new URL(tab.page.url()).searchParams.get("prefix")).toBe("shop-17/order/");
  });

  test("a change in the middle of what was scrolled through shows up without moving what is read", async () => {
    await using tab = await desk.open("/ns/default/keys");
    const { page } = tab;
    await page.getByText("100,000 keys").waitFor();
    await page.locator(".connection.live").waitFor();
    await page.evaluate(() => scrollTo(0, 2_000));
    await page.getByText("shop-00/order/002000").waitFor();
    const top = await page.evaluate(() => scrollY);
    await desk.call("state_set", { key: "shop-00/order/002000", value: "changed under your eyes" });
    await page.getByText("changed under your eyes").waitFor();
    expect(await page.evaluate(() => scrollY)).toBe(top);
  });
});

describe("the page", () => {
  test("is small: all its files together, compressed, stay under 150 KB, and it says of none that it comes from elsewhere", async () => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-page-"));
    try {
      await buildPage(folder);
      const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((item) => item.isFile()).map((item) => join(item.parentPath, item.name));
      const texts = await Promise.all(files.map((file) => readFile(file)));
      const bytes = texts.reduce((sum, text) => sum + gzipSync(text, { level: 9 }).length, 0);
      console.log(`the page is ${(bytes / 1_024).toFixed(1)} KB compressed, in ${files.length} files`);
      expect(files.length).toBeGreaterThanOrEqual(4);
      expect(bytes).toBeLessThan(compressedBytesMax);
      const html = await readFile(join(folder, "index.html"), "utf8");
      expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|style=/);
      expect([...html.matchAll(/(?:src|href)="([^"]*)"/g)].every(([, address]) => address?.startsWith("/assets/"))).toBe(true);
      for (const text of texts) expect(text.toString("utf8").replaceAll("http://www.w3.org/", "")).not.toMatch(/https?:\/\/[a-z]/);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
