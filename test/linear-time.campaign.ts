import { describe, expect, test } from "vitest";
import { constructedExpressions, repeating, worstOf } from "./support/repeating-expressions.ts";
import { lengths } from "./support/text-growth.ts";

/** `npm test` measures each expression with shorter texts. */
describe("every regular expression takes time in proportion to the text, also to a long one", () => {
  test.each(repeating)("$name", (expression) => {
    expect(worstOf(expression, lengths.full), expression.name).toBeUndefined();
  });

  test.each(constructedExpressions)("$begins…", (expression) => {
    expect(worstOf(expression, lengths.full), expression.begins).toBeUndefined();
  });
});
