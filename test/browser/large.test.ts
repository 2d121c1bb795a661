import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sharedBuild } from "../support/shared-builds.ts";
import type { DashboardPage } from "./support/dashboard-page.ts";
import { openDashboardPage } from "./support/dashboard-page.ts";
import { fillLargeStore, testLargeStore } from "./support/large-store.ts";

const size = { keys: 8_000, runs: 500 };
const compressedBytesMax = 150 * 1_024;

let dashboard: DashboardPage;
beforeAll(async () => {
  dashboard = await openDashboardPage({ fill: (url) => fillLargeStore(url, size) });
});
afterAll(() => dashboard?.[Symbol.asyncDispose]());

// How soon each view is ready, with many more: large.campaign.ts.
describe("a store with 8,000 keys", () => {
  testLargeStore(() => dashboard, size);
});

describe("the page", () => {
  test("is small: all its files together, compressed, stay under 150 KB, and it says of none that it comes from elsewhere", async () => {
    const folder = await sharedBuild("page");
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
  });
});
