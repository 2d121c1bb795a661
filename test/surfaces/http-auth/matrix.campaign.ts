import { describe, expect, test } from "vitest";
import { checkMatrix, checkReadOnlyMatrix } from "./matrix-scene.ts";

/** The authorisation matrix with every caller at every tool. `npm test` sends the callers at the edge of what is allowed. */
describe("the authorisation matrix, every caller at every tool", () => {
  test("lets through what each route and tool declares and nothing else, with zero leaks", async () => {
    expect((await checkMatrix({ everyCaller: true })).requests).toBeGreaterThan(5_000);
  });

  test("on a read-only server no credential changes anything", async () => {
    expect((await checkReadOnlyMatrix({ everyCaller: true })).requests).toBeGreaterThan(4_000);
  });
});
