import { describe, expect, test } from "vitest";
import { measured, slowTexts } from "./support/measured-functions.ts";
import { lengths, plainRuns } from "./support/text-growth.ts";

/** `npm test` measures each function with shorter texts. */
describe("every function that is given a text takes time in proportion to it, also to a long one", () => {
  test.each(Object.entries(measured))("%s", (_name, work) => {
    expect(slowTexts(work, plainRuns, lengths.full)).toEqual([]);
  });
});
