import { expect, test } from "vitest";
import { readHistory } from "../../src/domain/history/history.ts";
import { setState } from "../../src/domain/state/state.ts";
import { resumeRun } from "../../src/domain/workflows/find-runs.ts";
import { checkpointRun, createRun } from "../../src/domain/workflows/workflows.ts";
import { openScope } from "../support/scope.ts";

const text = "x".repeat(225_000);
const textMax = 1024 * 1024;

/** A scope, and how much text was read through it. */
function openMeasured() {
  const scope = openScope();
  const { store } = scope;
  const sum = { read: 0 };
  const note = <Page extends { readonly entries: readonly unknown[] } | { readonly rows: readonly unknown[] }>(page: Page): Page => {
    sum.read += JSON.stringify(page).length;
    return page;
  };
  return {
    scope: {
      ...scope,
      store: {
        ...store,
        read: async (...args: Parameters<typeof store.read>) => note(await store.read(...args)),
        log: async (...args: Parameters<typeof store.log>) => note(await store.log(...args)),
      },
    },
    sum,
  };
}

test("a run with long outputs is resumed with as many as fit, and no more of them are read than that takes", async () => {
  const { scope, sum } = openMeasured();
  await createRun(scope, { name: "n", runId: "r", tags: {}, input: {} });
  for (let step = 1; step <= 120; step += 1) await checkpointRun(scope, { runId: "r", step, output: `${step} ${text}` });
  for (const { stepsAfter, expected } of [
    { stepsAfter: undefined, expected: [117, 118, 119, 120] },
    { stepsAfter: 7, expected: [8, 9, 10, 11] },
  ]) {
    sum.read = 0;
    const { steps, more } = await resumeRun(scope, "r", { stepsAfter, limit: 1_000 });
    expect(steps.map(({ step }) => step)).toEqual(expected);
    expect(more).toBe(true);
    expect(sum.read).toBeLessThan(51 * text.length);
  }
});

test("every record of a history with long values is reached page by page, each as long as its values allow", async () => {
  const { scope, sum } = openMeasured();
  for (let i = 1; i <= 12; i += 1) await setState(scope, { key: "k", value: `${i} ${text}` });
  const seen: number[] = [];
  let before: Awaited<ReturnType<typeof readHistory>>["next"];
  do {
    sum.read = 0;
    const page = await readHistory(scope, { name: "k", limit: 200, before });
    expect(page.total).toBe(12);
    expect(page.entries.length).toBeGreaterThan(0);
    expect(JSON.stringify(page.entries).length).toBeLessThan(textMax + 250_000);
    expect(sum.read).toBeLessThan(10 * 4 * (text.length + 1_000));
    seen.push(...page.entries.map(({ version }) => version));
    before = page.next;
  } while (before !== undefined);
  expect(seen).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
});
