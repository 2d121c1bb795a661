import { describe, expect, test } from "vitest";
import { heldLog, openLog } from "../../src/kernel/log.ts";

function logOne(facts?: Record<string, unknown>, level: "debug" | "info" | "warn" | "error" = "warn"): string {
  const lines: string[] = [];
  openLog("info", (line) => lines.push(line))(level, "something", facts);
  expect(lines.length).toBeLessThanOrEqual(1);
  return lines[0] ?? "";
}
const parsed = (facts?: Record<string, unknown>): Record<string, unknown> => JSON.parse(logOne(facts));

describe("the log", () => {
  test("is one object with time, level and event first, from the asked-for severity on", () => {
    expect(Object.keys(parsed({ a: 1 }))).toEqual(["time", "level", "event", "a"]);
    expect(parsed()).toMatchObject({ level: "warn", event: "something" });
    expect(logOne({}, "debug")).toBe("");
    expect(logOne({}, "info")).not.toBe("");
  });

  test.each([
    ["line breaks", "a\nb\r\nc\u2028d\u2029e\u0085f\v\f"],
    ["a forged second event", '"}\n{"level":"error","event":"forged"}'],
    ["terminal sequences", "\u001b[2J\u001b]0;title\u0007\u009b31m\u007f"],
    ["turned text", "\u202eevil\u202c \u2066x\u2069 \u200f\u061c\ufeff"],
    ["half a character", "\ud800 and \udc00"],
    ["NUL", "a\0b"],
  ])("keeps %s to one line that shows as what it is, and gives it back exactly", (_name, text) => {
    const line = logOne({ text, [text]: [text] });
    expect(line.endsWith("\n")).toBe(true);
    expect(line.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/);
    expect(line.isWellFormed()).toBe(true);
    expect(JSON.parse(line)).toMatchObject({ text, [text]: [text] });
  });

  test("is bounded, however large or deep the facts are", () => {
    expect(logOne({ text: "x".repeat(10_000_000) }).length).toBeLessThan(5_000);
    expect(logOne({ list: Array.from({ length: 100_000 }, () => "x".repeat(1_000)) }).length).toBeLessThan(40_000);
    expect(logOne(Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`member-${i}`, "x".repeat(5_000)]))).length).toBeLessThan(40_000);
    let deep: unknown = "end";
    for (let i = 0; i < 100_000; i += 1) deep = { deep };
    expect(logOne({ deep }).length).toBeLessThan(500);
  });

  test("never fails its caller, and no fact overwrites the head", () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    expect(logOne({ circle })).toContain("something");
    expect(parsed({ big: 10n, error: new Error("why"), nothing: undefined }).error).toMatch(/Error: why\n/);
    expect(
      parsed({
        get broken(): string {
          throw new Error("no");
        },
      }).problem,
    ).toMatch(/could not be serialized/);
    expect(parsed({ level: "debug", event: "other", time: "never" })).toMatchObject({ level: "warn", event: "something" });
  });
});

test("the events of a held log are written in order when it is released, and later ones at once", () => {
  const told: string[] = [];
  const held = heldLog((_, event) => told.push(event));
  held.log("warn", "first");
  held.log("error", "second");
  expect(told).toEqual([]);
  held.release();
  expect(told).toEqual(["first", "second"]);
  held.log("warn", "third");
  held.release();
  expect(told).toEqual(["first", "second", "third"]);
});
