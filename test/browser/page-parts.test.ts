import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { ApiFailure } from "../../dashboard/data/api-client.ts";
import type { StreamEvent } from "../../dashboard/data/event-stream.ts";
import { readServerEvents } from "../../dashboard/data/event-stream.ts";
import { durationText, formatAgo } from "../../dashboard/parts/format.ts";
import { lineDiff } from "../../dashboard/parts/line-diff.ts";
import { plain } from "../../dashboard/parts/unseen.ts";
import { storeFacts } from "../../dashboard/views/health-facts.ts";
import { argumentsOf, enteredOf, formFieldsOf } from "../../dashboard/views/tool-form.ts";
import { catalog } from "../../src/tools/catalog.ts";
import { describeTool } from "../../src/tools/describe-tool.ts";

describe("the difference of two texts", () => {
  const lines = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 12 }).map((each) => each.join("\n"));

  test("leads from the one to the other, with as many lines kept as can be", () => {
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const diff = lineDiff(before, after) ?? [];
        const side = (left: "added" | "removed") => diff.filter(({ kind }) => kind !== left).map(({ text }) => text);
        expect(side("added").join("\n")).toBe(before);
        expect(side("removed").join("\n")).toBe(after);
        expect(diff.filter(({ kind }) => kind === "same").length).toBe(longestCommon(split(before), split(after)));
      }),
    );
  });

  test("is given up where there is too little in common, instead of taking long", () => {
    const text = (word: string) => Array.from({ length: 3_000 }, (_, index) => `${word} ${index}`).join("\n");
    expect(lineDiff(text("a"), text("b"))).toBeUndefined();
    expect(lineDiff(text("a"), `${text("a")}\nlast`)?.filter(({ kind }) => kind === "added").length).toBe(1);
  });

  const split = (text: string): readonly string[] => (text === "" ? [] : text.split("\n"));
  function longestCommon(a: readonly string[], b: readonly string[]): number {
    let row = new Array<number>(b.length + 1).fill(0);
    for (const left of a) {
      const next = [0];
      for (const [index, right] of b.entries()) next.push(left === right ? (row[index] ?? 0) + 1 : Math.max(row[index + 1] ?? 0, next[index] ?? 0));
      row = next;
    }
    return row.at(-1) ?? 0;
  }
});

describe("a form for a tool", () => {
  test.each(catalog)("$name: what is filled in becomes the arguments, and the other way round", (tool) => {
    const parameters = formFieldsOf(describeTool(tool).inputSchema);
    expect(parameters.map(({ name }) => name).sort()).toEqual([...Object.keys(tool.input.shape), ...(tool.effect === "read" ? [] : ["request_key"])].sort());
    const samples = { text: "x", number: 2, boolean: true, choice: "", texts: ["a", "b"], json: { a: [1] } };
    const args = Object.fromEntries(parameters.map(({ name, kind, choices }) => [name, kind === "choice" ? choices?.[0] : samples[kind]]));
    const entered = enteredOf(parameters, args);
    expect(argumentsOf(parameters, entered)).toEqual({ args, problems: {} });
    const missing = parameters.filter(({ required }) => required).map(({ name }) => name);
    expect(Object.keys(argumentsOf(parameters, {}).problems).sort()).toEqual(missing.sort());
  });

  test("says what belongs into an object or a list of objects", () => {
    const hint = (tool: string, name: string) => {
      const found = catalog.find((each) => each.name === tool) as (typeof catalog)[number];
      return formFieldsOf(describeTool(found).inputSchema).find((parameter) => parameter.name === name)?.hint;
    };
    expect(hint("state_set", "lease")).toBe("A JSON object with resource_id (text) and token (whole number).");
    expect(hint("state_commit", "writes")).toBe("A JSON list of objects, each with key (text) and, if wanted, value (any JSON), ttl_seconds (number) and delete (true or false).");
    expect(hint("save_checkpoint", "tensions")).toContain("between (list of texts) and nature (text) and, if wanted, resolution (unresolved, resolved, moot).");
    const described = { type: "object", description: "Where.", properties: { x: { type: "number" } } };
    expect(formFieldsOf({ properties: { at: described, n: { type: "integer", description: "How many." } } }).map((parameter) => parameter.hint)).toEqual([
      "Where. A JSON object with, if wanted, x (number).",
      "How many.",
    ]);
  });

  test("says which field is wrong", () => {
    const parameters = formFieldsOf({ type: "object", properties: { n: { type: "integer" }, v: {} } });
    expect(argumentsOf(parameters, { n: "many", v: "{" }).problems).toEqual({ n: expect.stringContaining("not a number"), v: expect.stringContaining("not JSON") });
  });
});

describe("the stream of events", () => {
  const encoder = new TextEncoder();
  const read = async (pieces: readonly string[]) => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const piece of pieces) controller.enqueue(encoder.encode(piece));
        controller.close();
      },
    });
    const events: StreamEvent[] = [];
    for await (const event of readServerEvents(body)) events.push(event);
    return events;
  };

  test("is read the same however it is cut", async () => {
    const text = ': hi\n\nevent: hello\ndata: {"revision":3}\n\nid: 7-1\nevent: change\ndata: {"subject":"ключ"}\n\n';
    const whole = await read([text]);
    expect(whole.map(({ id, event, data }) => [id, event, data])).toEqual([
      [undefined, "", ""],
      [undefined, "hello", '{"revision":3}'],
      ["7-1", "change", '{"subject":"ключ"}'],
    ]);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 40 }), async (sizes) => {
        const pieces: string[] = [];
        let from = 0;
        for (const size of sizes) {
          pieces.push(text.slice(from, from + size));
          from += size;
        }
        pieces.push(text.slice(from));
        expect(await read(pieces)).toEqual(whole);
      }),
      { numRuns: 50 },
    );
  });

  test("leaves out an event that was cut off in the middle", async () => {
    expect(await read(["event: change\ndata: 1\n\nevent: change\ndata: {"])).toHaveLength(1);
  });
});

describe("an address", () => {
  test("leads back to what it was made from, whatever the names are", async () => {
    vi.stubGlobal("location", { pathname: "/", search: "" });
    const { hrefOf, parseRoute } = await import("../../dashboard/router.ts");
    const names = fc.oneof(
      fc.string({ minLength: 1, maxLength: 20, unit: "grapheme" }),
      fc.constantFrom(".", "..", "~.", "~..", "a/b", "../x", "a?b=c#d", "%2e%2e", "config.json"),
    );
    fc.assert(
      fc.property(names, names, (namespace, id) => {
        // As a browser sees it: it resolves dots and encodes what must be.
        const { pathname, search } = new URL(hrefOf(namespace, "keys", id), "http://holdfast.test");
        expect(parseRoute({ pathname, search })).toMatchObject({ view: "keys", namespace, id });
      }),
    );
    expect(parseRoute({ pathname: "/ns/a/keys", search: "?prefix=x%2F" }).query.get("prefix")).toBe("x/");
    expect(parseRoute({ pathname: "/ns/a/nothing", search: "" }).view).toBe("unknown");
    vi.unstubAllGlobals();
  });
});

describe("words", () => {
  test("of a store's health are people's; the engine's own come after them, each with what it means", () => {
    const { shown, details } = storeFacts({
      driver: "node",
      file_bytes: 2_048,
      revision: 1_234,
      compacted_revision: 0,
      base: 0,
      gaps: [],
      appendonly: true,
      round_trip_ms: 0.4,
      save: null,
      lastBackupAt: "never",
    });
    expect(shown.map(({ label, value }) => `${label}: ${value}`)).toEqual(["Changes so far: 1,234", "History reaches back to: the first change", "Size on disk: 2.0 KB"]);
    expect(details.map(({ label, value }) => `${label}: ${value}`)).toEqual([
      "SQLite driver: node",
      "Continued after: never went back",
      "Skipped numbers: none",
      "Appendonly: yes",
      "Round trip: 0.4 ms",
      "Save: not set",
      "Last backup at: never",
    ]);
    const gone = storeFacts({ compacted_revision: 40, base: 19, gaps: [[7, 19]] });
    expect([...gone.shown, ...gone.details].map(({ value }) => value)).toEqual(["change 41", "19", "8 to 19"]);
    expect(details.find(({ name }) => name === "gaps")?.meaning).toContain("none is issued twice");
  });

  test("of a failure are for people: a hint that names tools is left to those who call them", () => {
    const advice = (hint?: string) => new ApiFailure(404, { code: "not_found", message: "There is none.", hint }).advice;
    expect(advice("workflow_discover lists the runs.")).toBeUndefined();
    expect(advice("Nothing was changed. Arguments of state_set: key, value.")).toBeUndefined();
    expect(advice("Revoke tokens that are no longer used.")).toBe("Revoke tokens that are no longer used.");
    expect(advice()).toBeUndefined();
  });

  test("for how long and how long ago are short and never negative", () => {
    expect([0, 940, 1_500, 9_949, 61_000, 3_600_000, 3_725_000, 90_061_000].map(durationText)).toEqual([
      "0 ms",
      "940 ms",
      "1.5 s",
      "9.9 s",
      "1 min 1 s",
      "1 h",
      "1 h 2 min",
      "1 d 1 h",
    ]);
    expect([100, 5_000, 61_000, 7_200_000].map((ms) => formatAgo(1_000_000_000 - ms, 1_000_000_000))).toEqual(["just now", "5 s ago", "1 min ago", "2 h ago"]);
    expect(formatAgo(1_000_010_000, 1_000_000_000)).toBe("in 10 s");
  });

  test("invisible characters are named, and scripts keep those that they need", () => {
    expect(plain("a\u202Eb\u200Bc")).toBe("a[U+202E]b[U+200B]c");
    expect(plain("naïve 日本 أهلا ✓")).toBe("naïve 日本 أهلا ✓");
  });
});

describe("every view of the router", () => {
  const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
  const views = (/namespaceViews = \[([^\]]+)\]/.exec(read("dashboard/router.ts"))?.[1] ?? "").split(",").map((name) => name.trim().replaceAll('"', ""));

  test.each(views)("%s has a row on the page about the dashboard", (view) => {
    const label = new RegExp(`^  ${view}: \\["\\w+", "([^"]+)"`, "m").exec(read("dashboard/shell.tsx"))?.[1] ?? "Knowledge";
    expect(read("docs/dashboard.md")).toContain(`\n| ${label} |`);
    expect(label === "Knowledge", "only research is a tab of another view").toBe(["knowledge", "research"].includes(view));
  });

  /** The overview has no part of its own in the address. `try` and `health` show no text that agents stored. */
  const address = (view: string): RegExp => new RegExp(view === "overview" ? '"/ns/default"' : `["\`]/ns/default/${view}\\b`);
  test.each(views)("%s is opened by the browser tests, with plain text and with hostile text", (view) => {
    expect(read("test/browser/views.test.ts")).toMatch(address(view));
    if (view !== "try" && view !== "health") expect(read("test/browser/hostile.test.ts")).toMatch(address(view));
  });
});
