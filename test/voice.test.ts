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
  [/\bwhoever\b/i, "name the actor: the caller, the client, the reader, an agent that"],
  [/\bsomebody\b/i, "another agent, a caller, the user"],
  [/(?<!const |= |\()\bnobody\b/i, "no agent, no caller, or say what does not happen"],
  [/\b(everybody|anybody)\b/i, "every caller, any agent"],
  [/\banew\b/i, "again, or: rebuild, restart"],
  [/\bin earnest\b/i, "say which step does it"],
  [/\blets? go\b/i, "release, drop"],
  [/\b(goes|go|went|going) on\b/i, "continues, resumes, keeps doing"],
  [/\b(is|are|was|were|be) told\b/i, "receives, gets; is reported"],
  [/\btold apart\b/i, "distinguished"],
  [/\bas good as (empty|the|those)\b/i, "nearly empty, as well as"],
  [/\bin turns\b/i, "alternating, alternately, in turn"],
  [/\b(times?|clocks?|transaction) st(ands?|ood) still\b/i, "does not advance, is idle"],
  [/\bwhat came back\b/i, "the result, the answer"],
  [/\btakes? something away\b/i, "removes"],
  [/\bif need be\b/i, "if necessary"],
  [/\bother people's\b/i, "third-party, others'"],
  [/\blooked for on the\b/i, "searched for; or say who searches where"],
  [/\bwere (not )?looked at\b/i, "have been examined, have been searched"],
  [/\bit is nowhere\b/i, "there is none"],
  [/\bwhat is bundled in\b/i, "the bundled packages"],
];

const root = fileURLToPath(new URL("..", import.meta.url));
const isText = (name: string): boolean => /\.(tsx?|mjs|lua|css|md|html|py)$/.test(name);
const below = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true }).flatMap((item) =>
    item.isFile() && isText(item.name) ? [join(item.parentPath, item.name).slice(root.length)] : [],
  );
const pages = readdirSync(root).filter((name) => /^[A-Z]+\.md$/.test(name) && name !== "CHANGELOG.md");
const files = [...["src", "dashboard", "docs", "plugin", "deploy", "python", "scripts", "bench"].flatMap(below), ...pages];

/** `PATH-bell` is the name of a file. */
const withoutFileNames = (line: string): string => line.replaceAll(/-bell\b/g, "").replaceAll(/\bbell_\w+/g, "");

/** Each line with such a phrase, and what to write instead. */
const findNonIdioms = (path: string, text: string): string[] =>
  text
    .split("\n")
    .flatMap((line, index) =>
      nonIdioms.flatMap(([phrase, instead]) => (phrase.test(withoutFileNames(line)) ? [`${path}:${index + 1} ${phrase.exec(line)?.[0]}: write ${instead}`] : [])),
    );

describe("the language of code and documents", () => {
  test("is checked in every file", () => {
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
    ["Whoever asked gets the answer."],
    ["Somebody may have edited it."],
    ["Nobody looks at it."],
    ["Everybody may read it."],
    ["An id can be shown to anybody."],
    ["Both are read anew."],
    ["Nothing is deleted in earnest."],
    ["The holder lets go."],
    ["The work goes on."],
    ["The page is told of it."],
    ["Two kinds, told apart by their names."],
    ["A store that is as good as empty."],
    ["Floor and product, in turns."],
    ["Expiry times stand still."],
    ["What came back is compared with its label."],
    ["This takes something away."],
    ["Fetched once if need be."],
    ["Compared with other people's queues."],
    ["Looked for on the PATH."],
    ["Older entries were not looked at yet."],
    ["Fetched from Debian's packages where it is nowhere."],
    ["The list of what is bundled in."],
  ])("is checked: %s", (sentence) => {
    expect(findNonIdioms("docs/planted.md", `A plain sentence.\n${sentence}`)).toEqual(expect.arrayContaining([expect.stringMatching(/^docs\/planted\.md:2 /)]));
  });

  /** Titles of tests are read when they fail. The words in their code and comments are not checked. */
  const titles = below("test").flatMap((path) =>
    path.endsWith("voice.test.ts") || !path.endsWith(".ts")
      ? []
      : [...readFileSync(join(root, path), "utf8").matchAll(/^\s*(?:test|describe)(?:\.\w+)*(?:\([^"`\n]*\))?\(["`]([^"`\n]+)["`]/gm)].map(([, title = ""]) => ({ path, title })),
  );
  const titleWords =
    /\b(whoever|whomever|somebody|everybody|anybody|nobody('s)?|anew|in earnest|(goes|go|went) on|told apart|told so|as good as|without a word|tells? of|(is|are) asked for)\b/i;

  test("is plain in the titles of tests too", () => {
    expect(titles.length).toBeGreaterThan(1_500);
    expect(titles.filter(({ title }) => titleWords.test(title))).toEqual([]);
    expect(["whoever comes next", "the reads go on", "is told so"].filter((title) => !titleWords.test(title))).toEqual([]);
  });

  test("may name the file PATH-bell, and a line without such a phrase passes", () => {
    expect(findNonIdioms("docs/fine.md", "Each commit writes to the file `PATH-bell`.\nPass the token with every write.\nThe roadmap is short.")).toEqual([]);
  });
});
