import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const source = readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export interface AccessibilityCheck {
  /** One line for each fault: the rule, why it matters, where. */
  readonly faults: readonly string[];
  /** Rules that found something to look at, and found it right: a checker must prove that it looked. */
  readonly passed: number;
}

const everything = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** `only`: these rules and no others. */
export async function checkAccessibility(page: Page, only?: readonly string[]): Promise<AccessibilityCheck> {
  const known = await page.evaluate(() => "axe" in globalThis);
  // By the debugger's door: the page's own policy forbids strangers' scripts, as it should.
  if (!known) await page.evaluate(await source);
  const runOnly = only === undefined ? { type: "tag", values: everything } : { type: "rule", values: [...only] };
  const results = (await page.evaluate((options) => (globalThis as unknown as { axe: { run(root: unknown, options: unknown): unknown } }).axe.run(document, options), {
    runOnly,
    resultTypes: ["violations"],
  })) as AxeResults;
  return {
    faults: results.violations.map(({ id, help, nodes }) => `${id}: ${help} (${nodes.map(({ target }) => target.join(" ")).join("; ")})`),
    passed: results.passes.length,
  };
}
