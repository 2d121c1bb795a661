import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Difference } from "./compare-answers.ts";
import { namedDifferences } from "./named-differences.ts";
import { replay } from "./replay.ts";
import type { Transcript } from "./transcript.ts";
import { transcripts } from "./transcript.ts";

const guide = readFileSync(new URL("../../docs/moving-in.md", import.meta.url), "utf8");

const titleOf = ({ original, version }: Transcript): string => (original === "COA Goldfish" ? `${original}, ${version}` : `${original} ${version}`);
const shown = ({ call, kind, path, arguments: given, theirs, ours }: Difference): string =>
  `${call} ${JSON.stringify(given).slice(0, 120)}: ${kind} ${path} (${JSON.stringify(theirs)?.slice(0, 120)} → ${JSON.stringify(ours)?.slice(0, 120)})`;

/** The lines of a list in the guide, by the bold title above it. */
function listsOf(text: string): Readonly<Record<string, readonly string[]>> {
  const chapter = text.split("\n## ").find((each) => each.startsWith("What differs from the originals\n"));
  if (chapter === undefined) throw new Error("the guide has no chapter on differences");
  return Object.fromEntries(
    chapter
      .split("\n**")
      .slice(1)
      .map((section) => {
        const items = section.split(/\n(?=- )/).slice(1);
        return [section.slice(0, section.indexOf("**")), items.map((item) => (item.split("\n\n")[0] as string).slice(2).replaceAll(/\s+/g, " ").trim())];
      }),
  );
}

test("there is a transcript of every original, and each says how it came about", () => {
  expect(transcripts.map(titleOf).sort()).toEqual(Object.keys(namedDifferences).sort());
  expect(new Set(transcripts.map(({ profile }) => profile))).toEqual(new Set(["agentcheckpoint", "sidecar", "goldfish", "sage"]));
  for (const { recorded, exchanges } of transcripts) {
    expect(recorded).toMatch(/^(by running the package|not run, because)/);
    expect(exchanges.length).toBeGreaterThan(8);
    for (const exchange of exchanges)
      if ("tool" in exchange)
        expect(
          ["answer", "text", "isError", "answered"].filter((kind) => kind in exchange),
          `one answer to ${exchange.tool}`,
        ).toHaveLength(1);
  }
});

describe.each(transcripts.map((transcript) => [titleOf(transcript), transcript] as const))("%s, replayed against its profile", (title, transcript) => {
  const named = namedDifferences[title] ?? [];

  test("differs in what has a name, and every name is needed", async () => {
    const differences = await replay(transcript);
    const nameOf = (difference: Difference): string | undefined => named.find(({ covers }) => covers(difference))?.says;
    expect(differences.filter((each) => nameOf(each) === undefined).map(shown), "differences without a name").toEqual([]);
    const used = new Set(differences.map(nameOf));
    expect(
      named.map(({ says }) => says).filter((says) => !used.has(says)),
      "names that nothing shows",
    ).toEqual([]);
  });

  test("has exactly these differences in the guide, and how its transcript came about", () => {
    expect(listsOf(guide)[title]).toEqual(named.map(({ says }) => says));
    expect(guide.includes(`${title.split(",")[0]} was not run`)).toBe(transcript.recorded.startsWith("not run"));
  });
});

test("the guide lists differences from no other system", () => {
  expect(Object.keys(listsOf(guide)).sort()).toEqual(Object.keys(namedDifferences).sort());
});
