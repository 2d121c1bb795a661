import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

/**
 * Phrases that are not English, or metaphors that a reader would have to learn first, and what to write instead.
 * Extend the list when a phrase has been removed everywhere.
 */
const nonIdioms: readonly (readonly [phrase: RegExp, instead: string])[] = [
  [/\bbelongs? into\b/i, "goes into, or: put it into"],
  [/\bhow manieth\b/i, "index, ordinal, position"],
  [/\bwhomever\b/i, "by anyone, or name who"],
  [/\blets? in who/i, "admits, accepts; refused: rejected"],
  [/\b(is|are) asked for\b/i, "is requested, is read"],
  [/\bin vain\b/i, "without success, or say what does not happen"],
  [/\bsomebody else's\b/i, "another caller's, already taken"],
  [/\b(is|are) nobody's\b/i, "is internal, belongs to no one"],
  [/\bwithout a word\b/i, "silently"],
  [/\bgo(es)? on from\b/i, "continues from, resumes at"],
  [/\bis to be called\b/i, "name the thing: under this name; call the function"],
  [/\bmust not be met\b/i, "must not be found"],
  [/\bno end of\b/i, "unbounded"],
  [/\btells? of\b/i, "reports, describes"],
  [/\bwhere nobody can be asked\b/i, "when stdin is not a terminal"],
  [/\bdirect road\b/i, "fast path"],
  [/\b(Sdk|Redis)?Roads?\b/, "router, connections, path"],
  [/\broads?\b(?! map)/i, "path, connection, transport"],
  [/\bgraves?\b|\bburied\b/i, "tombstone"],
  [/\b(door)?bells?\b(?!["`'])/i, "change signal"],
  [/\btold things?\b/i, "activity titles"],
];

/** Phrases that are gone from these folders. Move one to the list above when the others are free of it too. */
const rewritten: readonly string[] = ["src/surfaces/", "src/install/", "src/transfer/", "src/verify/", "src/telemetry/", "dashboard/", "plugin/", "python/"];
const nonIdiomsThere: typeof nonIdioms = [
  [/\bwhoever\b/i, "name the actor: the caller, the client, the reader, an agent that"],
  [/\bsomebody\b/i, "another agent, a caller, the user"],
  [/\bnobody\b/i, "no agent, no caller, or say what does not happen"],
  [/\banew\b/i, "again, or: rebuild, restart"],
  [/\bin earnest\b/i, "say which step does it"],
  [/\blets? go\b/i, "release, drop"],
  [/\b(goes|go|went) on\b/i, "continues, resumes, keeps doing"],
  [/\b(everybody|anybody)\b/i, "every caller, any agent"],
  [/\b(is|are|was|were|be) told\b/i, "receives, gets; is reported"],
];

const root = fileURLToPath(new URL("..", import.meta.url));
const isText = (name: string): boolean => /\.(tsx?|md|html|py)$/.test(name);
const below = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true }).flatMap((item) =>
    item.isFile() && isText(item.name) ? [join(item.parentPath, item.name).slice(root.length)] : [],
  );
const pages = readdirSync(root).filter((name) => /^[A-Z]+\.md$/.test(name) && name !== "CHANGELOG.md");
const files = [...["src", "dashboard", "docs", "plugin", "deploy", "python"].flatMap(below), ...pages];

/** `PATH-bell` is the name of a file. */
const withoutFileNames = (line: string): string => line.replaceAll(/-bell\b/g, "").replaceAll(/\bbell_\w+/g, "");

/** Each line with such a phrase, and what to write instead. */
const findNonIdioms = (path: string, text: string): string[] =>
  text
    .split("\n")
    .flatMap((line, index) =>
      [...nonIdioms, ...(rewritten.some((folder) => path.startsWith(folder)) ? nonIdiomsThere : [])].flatMap(([phrase, instead]) =>
        phrase.test(withoutFileNames(line)) ? [`${path}:${index + 1} ${phrase.exec(line)?.[0]}: write ${instead}`] : [],
      ),
    );

describe("the language of code and documents", () => {
  test("is looked at in every file", () => {
    expect(files.length).toBeGreaterThan(500);
    expect(files).toEqual(expect.arrayContaining(["src/settings.ts", "dashboard/app.tsx", "docs/cli.md", "README.md"]));
  });

  test("has none of the phrases on the list", () => {
    expect(files.flatMap((path) => findNonIdioms(path, readFileSync(join(root, path), "utf8")))).toEqual([]);
  });

  test.each([
    ["A URL with a password belongs into the variable."],
    ["Each with the how manieth change of its revision it is."],
    ["Claims taken after a lapse, by whomever."],
    ["PostgreSQL does not let in whom the environment names."],
    ["The page is asked for once more."],
    ["The name is somebody else's here."],
    ["Node drops the headers without a word."],
    ["The stream goes on from there."],
    ["Of an export with one namespace: what it is to be called here."],
    ["--yes is needed where nobody can be asked"],
    ["The direct road answers like the SDK."],
    ["Removed keys lie among the graves."],
    ["The bell says when to look."],
  ])("is checked: %s", (sentence) => {
    expect(findNonIdioms("docs/planted.md", `A plain sentence.\n${sentence}`)).toEqual(expect.arrayContaining([expect.stringMatching(/^docs\/planted\.md:2 /)]));
  });

  test.each([
    ["src/surfaces/planted.ts", "// Whoever asked gets the answer."],
    ["src/install/planted.ts", "// Somebody may have edited it."],
    ["dashboard/planted.tsx", "// Nobody looks at it."],
    ["src/transfer/planted.ts", "// Both are read anew."],
    ["src/verify/planted.ts", "// The holder lets go."],
    ["src/telemetry/planted.ts", "// The work goes on."],
    ["plugin/planted.md", "Everybody may read it."],
    ["dashboard/planted.ts", "// The page is told of it."],
  ])("is checked in rewritten folders: %s", (path, sentence) => {
    expect(findNonIdioms(path, sentence)).toEqual([expect.stringContaining(`${path}:1 `)]);
    expect(findNonIdioms(`test/${path}`, sentence)).toEqual([]);
  });

  test("may name the file PATH-bell, and a line without such a phrase passes", () => {
    expect(findNonIdioms("docs/fine.md", "Each commit writes to the file `PATH-bell`.\nPass the token with every write.\nThe roadmap is short.")).toEqual([]);
  });
});
