import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { likePattern } from "../../src/tools/like-pattern.ts";
import { cpuMsOf } from "../support/cpu-ms.ts";

/** The plain definition, exponential and obviously right. */
function matchesByDefinition(pattern: readonly string[], text: readonly string[]): boolean {
  const [head, ...rest] = pattern;
  if (head === undefined) return text.length === 0;
  if (head === "%") return matchesByDefinition(rest, text) || (text.length > 0 && matchesByDefinition(pattern, text.slice(1)));
  if (text.length === 0) return false;
  if (head === "\\") return rest[0] === text[0] && matchesByDefinition(rest.slice(1), text.slice(1));
  return (head === "_" || head === text[0]) && matchesByDefinition(rest, text.slice(1));
}

describe("a LIKE pattern", () => {
  test.each([
    ["%", "", true],
    ["%", "anything", true],
    ["", "", true],
    ["", "a", false],
    ["a_c", "abc", true],
    ["a_c", "ac", false],
    ["_", "\u{1F600}", true],
    ["A%", "abc", false],
    ["50\\%", "50%", true],
    ["50\\%", "500", false],
    ["a\\_b", "axb", false],
    ["a\\\\b", "a\\b", true],
    ["%task%done", "my/task/1/done", true],
    ["%task%done", "my/task/1/done!", false],
    ["[a-z]*", "abc", false],
    ["%".repeat(20), "abc", true],
    ["constructor", "constructor", true],
  ])("%j on %j: %s", (pattern, text, expected) => {
    expect(likePattern(pattern).matches(text)).toBe(expected);
  });

  test("agrees with the definition on random patterns and texts, also longer than a machine word", () => {
    const letters = fc.constantFrom("a", "b", "%", "_", "\\");
    const filler = fc.constantFrom("", "x".repeat(31), "x".repeat(40));
    fc.assert(
      fc.property(fc.array(letters, { maxLength: 8 }), fc.array(letters, { maxLength: 8 }), filler, (tail, textTail, before) => {
        fc.pre((/\\*$/.exec(tail.join("")) as RegExpExecArray)[0].length % 2 === 0);
        const pattern = [...before, ...tail];
        const text = [...before, ...textTail];
        expect(likePattern(pattern.join("")).matches(text.join(""))).toBe(matchesByDefinition(pattern, text));
      }),
      { numRuns: 2_000 },
    );
  });

  test("begins its scan at what every match begins with", () => {
    expect(likePattern("run/1\\%x%y").literalPrefix).toBe("run/1%x");
    expect(likePattern("a_c").literalPrefix).toBe("a");
    expect(likePattern("exact").literalPrefix).toBe("exact");
    expect(likePattern("%a").literalPrefix).toBe("");
  });

  test("a pattern made to be slow is answered as fast as any other", () => {
    const [hostile, ordinary] = [likePattern(`${"%a_".repeat(300)}b`), likePattern(`%${"x".repeat(900)}`)];
    const text = "a".repeat(512);
    const cpuMs = (like: typeof hostile): number =>
      cpuMsOf(() => {
        for (let i = 0; i < 50; i += 1) like.matches(text);
      });
    // Backtracking would take longer than the universe has. In turns, and the quickest of each: what else the machine does counts for both.
    const laps = Array.from({ length: 7 }, () => [cpuMs(hostile), cpuMs(ordinary)] as const);
    const quickest = (of: 0 | 1): number => Math.min(...laps.map((lap) => lap[of]));
    expect(quickest(0) / quickest(1)).toBeLessThan(10);
  });

  test.each(["a\\", "\\\\\\"])("%j is refused: it ends in a lone backslash", (pattern) => {
    expect(() => likePattern(pattern)).toThrow("pattern: must not end in a single \\");
  });

  test("is refused when longer than any key needs", () => {
    expect(() => likePattern("a".repeat(1_025))).toThrow("pattern: must have at most 1024 characters");
  });
});
