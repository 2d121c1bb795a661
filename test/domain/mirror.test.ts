import { chmod, lstat, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { saveNote } from "../../src/domain/knowledge/knowledge.ts";
import type { Note } from "../../src/domain/knowledge/note.ts";
import { statuses, trustLevels } from "../../src/domain/knowledge/note.ts";
import type { Mirror } from "../../src/domain/mirror/mirror.ts";
import { mirrorCheckpoint, mirrorNote } from "../../src/domain/mirror/mirror.ts";
import type { ResearchCheckpoint } from "../../src/domain/research/checkpoint.ts";
import { actionTypes, contributionTypes, relations, resolutions, sourceTypes, triggers } from "../../src/domain/research/checkpoint.ts";
import { requireCheckpoint, saveCheckpoint } from "../../src/domain/research/checkpoints.ts";
import { checkpointFromYaml, checkpointToYaml } from "../../src/transfer/mirror/checkpoint-file.ts";
import { fileNameOf } from "../../src/transfer/mirror/file-name.ts";
import { writeMirrorFile } from "../../src/transfer/mirror/mirror-folder.ts";
import { noteFromMarkdown, noteToMarkdown } from "../../src/transfer/mirror/note-file.ts";
import { openMirror } from "../../src/transfer/mirror/open-mirror.ts";
import { fromYaml } from "../../src/transfer/mirror/yaml-text.ts";
import { propertySeed } from "../support/property-seed.ts";
import { openScope } from "../support/scope.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Text as people write it, text that YAML would take for something else, and any characters at all. */
const trick = fc.constantFrom(
  ..."yes,no,null,~,true,0x1f,1e3,.inf,.nan,2026-01-10,- a,? a,: a,a: b,a #b,&a,*a,!!binary x,!x,%YAML 1.1,---,...,|,>,@a,`a`,[a],{a: b},\"a\",'a',<<,__proto__".split(","),
  ..." a, a ,a\n,\na,a\n\nb,a \nb,a\t\nb,\ta,a\r\nb,a\rb,a\u0085b,a\u2028b,\ufeffa,a\0b,a\x1bb,\u007f,a\ufffe,- a\n  b\n---\nc,  a\nb,a\n  b,a:\n b,#a\n#b,a\\nb".split(","),
  "x ".repeat(200),
  `${"long line ".repeat(30)}\n${"another ".repeat(30)}`,
);
const text = fc
  .oneof(
    trick,
    fc.string({ unit: "binary", minLength: 1, maxLength: 30 }),
    fc.array(trick, { minLength: 2, maxLength: 4 }).map((parts) => parts.join("\n")),
  )
  .filter((each) => each.trim() !== "");
const optional = <T>(name: string, value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined }).map((each) => (each === undefined ? {} : { [name]: each }));
const timeMs = fc.integer({ min: 0, max: 4_000_000_000_000 });

const checkpoints: fc.Arbitrary<ResearchCheckpoint> = fc
  .tuple(
    fc.record({
      id: text,
      savedAtMs: timeMs,
      writer: text,
      coreQuestion: text,
      thesis: text,
      confidence: fc.double({ min: 0, max: 1, noNaN: true }).map((each) => each + 0),
      trigger: fc.constantFrom(...triggers),
      openQuestions: fc.array(text, { maxLength: 3 }),
      sources: fc.array(fc.record({ id: text, type: fc.constantFrom(...sourceTypes), take: text, relation: fc.constantFrom(...relations) }), { maxLength: 3 }),
      tensions: fc.array(fc.record({ between: fc.tuple(text, text), nature: text, resolution: fc.constantFrom(...resolutions) }), { maxLength: 2 }),
      uniqueContributions: fc.array(fc.record({ type: fc.constantFrom(...contributionTypes), content: text }), { maxLength: 2 }),
    }),
    optional("action", fc.record({ goal: text, type: fc.constantFrom(...actionTypes) })),
    optional("skill", text),
    optional("workspace", text),
    optional("continues", text),
    optional("agent", text),
  )
  .map((parts) => Object.assign({}, ...parts) as ResearchCheckpoint)
  .filter(({ id, skill = "", workspace = "", continues = "" }) => [id, skill, workspace, continues].every((each) => Buffer.byteLength(each) <= 256));

const noteId = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9._:@/-]{0,20}$/);
const notes: fc.Arbitrary<Note> = fc
  .tuple(
    fc.record({
      id: noteId,
      version: fc.integer({ min: 1 }),
      savedAtMs: timeMs,
      writer: text,
      content: text,
      keywords: fc.array(
        text.filter((each) => Buffer.byteLength(each) <= 128),
        { maxLength: 3 },
      ),
      status: fc.constantFrom(...statuses),
      trust: fc.constantFrom(...trustLevels),
    }),
    optional("skill", fc.stringMatching(/^[a-z0-9][a-z0-9._:-]{0,10}$/)),
    optional("source", text),
    optional("supersedes", noteId),
    optional("supersededBy", noteId),
    optional("agent", text),
  )
  .map((parts) => Object.assign({}, ...parts) as Note);

describe("a checkpoint's file", () => {
  test("gives back exactly what was saved, whatever the texts contain", () => {
    fc.assert(
      fc.property(checkpoints, (checkpoint) => {
        const yaml = checkpointToYaml(checkpoint);
        // As bytes, the way it goes through a file.
        expect(checkpointFromYaml(Buffer.from(yaml, "utf8").toString("utf8"))).toEqual(checkpoint);
      }),
      { numRuns: 400, seed: propertySeed },
    );
  });

  test("reads well", () => {
    const yaml = checkpointToYaml({
      id: "2026-01-10T23-45-00_caching",
      savedAtMs: Date.UTC(2026, 0, 10, 23, 45),
      writer: "mara",
      coreQuestion: "Does caching pay?",
      thesis: "Yes: it halves the cost.\nBut only for reads.",
      confidence: 0.8,
      trigger: "synthesis",
      openQuestions: ["For how long?"],
      sources: [{ id: "bench", type: "experiment" as "code", take: "2x", relation: "supports" }],
      tensions: [],
      uniqueContributions: [],
    });
    expect(yaml).toBe(`format: holdfast-research-checkpoint-1
id: 2026-01-10T23-45-00_caching
saved: 2026-01-10T23:45:00.000Z
author: mara
core_question: Does caching pay?
thesis: |-
  Yes: it halves the cost.
  But only for reads.
confidence: 0.8
trigger: synthesis
open_questions:
  - For how long?
sources:
  - id: bench
    type: experiment
    take: 2x
    relation: supports
tensions: []
unique_contributions: []
`);
    // Edited by hand into something that was never allowed, it is refused by name.
    expect(() => checkpointFromYaml(yaml)).toThrow('sources[0].type: must be one of "person"');
  });

  test.each([
    ["an unknown key", "format: holdfast-research-checkpoint-1\nextra: 1\n", /file\.extra: unknown/],
    ["another format", "format: other\n", /format: must be holdfast-research-checkpoint-1/],
    ["a list", "- 1\n", /file: must be an object/],
    ["a key twice", "format: a\nformat: b\n", /DUPLICATE_KEY/],
    ["a tag", "format: !!js/function 'x'\n", /TAG_RESOLVE_FAILED/],
    ["an alias", "a: &a [1]\nb: *a\n", /without aliases/],
    ["two documents", "a: 1\n---\nb: 1\n", /MULTIPLE_DOCS/],
    ["no YAML at all", "a: [", /must be plain YAML/],
  ])("%s is refused", (_, yaml, message) => {
    expect(() => checkpointFromYaml(yaml)).toThrow(message);
  });

  test("a bomb of aliases is refused at once", () => {
    const levels = Array.from({ length: 20 }, (_, i) => `l${i}: &l${i} [${Array.from({ length: 10 }, () => (i === 0 ? "x" : `*l${i - 1}`)).join(", ")}]`);
    expect(() => fromYaml(levels.join("\n"))).toThrow(/without aliases/);
  });
});

describe("a note's file", () => {
  test("gives back exactly what was saved, whatever the texts contain", () => {
    fc.assert(
      fc.property(notes, (note) => {
        expect(noteFromMarkdown(Buffer.from(noteToMarkdown(note), "utf8").toString("utf8"))).toEqual(note);
      }),
      { numRuns: 400, seed: propertySeed },
    );
  });

  test("is Markdown under a front matter", () => {
    const note: Note = {
      id: "limits",
      version: 2,
      savedAtMs: 0,
      writer: "mara",
      content: "# Limits\n\n60 a minute.\n",
      keywords: ["rate"],
      status: "active",
      trust: "high",
      source: "handbook",
    };
    expect(noteToMarkdown(note)).toBe(`---
format: holdfast-note-1
id: limits
version: 2
saved: 1970-01-01T00:00:00.000Z
author: mara
source: handbook
status: active
trust: high
keywords:
  - rate
---
# Limits

60 a minute.

`);
  });

  test("without its front matter is refused", () => {
    expect(() => noteFromMarkdown("# Limits\n")).toThrow(/must begin with front matter/);
    expect(() => noteFromMarkdown("---\nformat: holdfast-note-1\n")).toThrow(/must begin with front matter/);
  });
});

describe("file names", () => {
  test.each([
    ["api-limits", "api-limits"],
    ["速率", "速率"],
    ["API", /^api~[0-9a-f]{10}$/],
    ["a/b", /^a-b~[0-9a-f]{10}$/],
    ["a/../../b", /^a-..-..-b~[0-9a-f]{10}$/],
    ["con", /^con~/],
    ["nul.x", /^nul\.x~/],
    ["x.", /^x-~/],
    ["e\u0301", /^é~/],
    ["x".repeat(128), /^x{120}~/],
  ])("%s becomes %s", (id, name) => {
    expect(fileNameOf(id)).toMatch(name);
  });

  test("different ids have different names, also where case is not distinguished", () => {
    const ids = ["a", "A", "a/b", "a-b", "a:b", "a@b", "A-B", "x".repeat(121), "x".repeat(122)];
    expect(new Set(ids.map((id) => fileNameOf(id).toLowerCase())).size).toBe(ids.length);
  });
});

const research = { coreQuestion: "Why is the build slow?", thesis: "Cold cache.", confidence: 0.7 };
const modeOf = async (path: string): Promise<number> => (await lstat(path)).mode & 0o777;

describe("the mirror", () => {
  test("writes files and folders for their owner only, and a checkpoint can be read back from its file", async () => {
    const folder = await temporaryFolder();
    const scope = openScope();
    const mirror = openMirror({ checkpointDir: join(folder, "deep", "checkpoints"), knowledgeDir: join(folder, "knowledge"), namespace: "default" });
    const { checkpointId } = await saveCheckpoint(scope, research);
    const { path } = await mirrorCheckpoint(scope, mirror, checkpointId);
    expect(path).toBe(join(folder, "deep", "checkpoints", `${checkpointId}.yaml`));
    expect(await modeOf(path as string)).toBe(0o600);
    expect(await modeOf(join(folder, "deep", "checkpoints"))).toBe(0o700);
    expect(checkpointFromYaml(await readFile(path as string, "utf8"))).toEqual(await requireCheckpoint(scope, checkpointId));
    expect(await readdir(join(folder, "deep", "checkpoints"))).toEqual([`${checkpointId}.yaml`]);
  });

  test("keeps skills and namespaces apart in folders of their own", async () => {
    const folder = await temporaryFolder();
    const scope = openScope();
    await saveNote(scope, { id: "limits", content: "Global." });
    await saveNote(scope, { id: "limits", content: "Shipping.", skill: "shipping" });
    const pathOf = async (namespace: string, name: string) =>
      (await mirrorNote(scope, openMirror({ checkpointDir: folder, knowledgeDir: folder, namespace }), name)).path?.slice(folder.length + 1);
    expect(await pathOf("default", "limits")).toBe("limits.md");
    expect(await pathOf("default", "@shipping/limits")).toBe(join("@shipping", "limits.md"));
    expect(await pathOf("team", "limits")).toBe(join("@@team", "limits.md"));
    expect(await pathOf("a/../../b", "limits")).toMatch(/^@@a-\.\.-\.\.-b~[0-9a-f]{10}.limits\.md$/);
  });

  test("replaces a note's file whole", async () => {
    const folder = await temporaryFolder();
    const scope = openScope();
    const mirror = openMirror({ checkpointDir: folder, knowledgeDir: folder, namespace: "default" });
    for (const content of ["One, and rather long.", "Two."]) {
      await saveNote(scope, { id: "n", content });
      const { path } = await mirrorNote(scope, mirror, "n");
      expect(noteFromMarkdown(await readFile(path as string, "utf8")).content).toBe(content);
    }
    expect(await readdir(folder)).toEqual(["n.md"]);
  });

  test("a note that changed while its file was written is written again", async () => {
    const scope = openScope();
    await saveNote(scope, { id: "n", content: "First." });
    const written: string[] = [];
    const slow: Mirror = {
      checkpoint: async () => "",
      async note({ content }) {
        if (written.length === 0) await saveNote(scope, { id: "n", content: "Second." });
        written.push(content);
        return "n.md";
      },
    };
    expect(await mirrorNote(scope, slow, "n")).toEqual({ path: "n.md" });
    expect(written).toEqual(["First.", "Second."]);
  });

  test("a file that cannot be written is a warning without a path in it; what was saved stays", async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, "taken"), "a file where the folder should be");
    const scope = openScope();
    const mirror = openMirror({ checkpointDir: join(folder, "taken"), knowledgeDir: join(folder, "taken", "below"), namespace: "default" });
    const { checkpointId } = await saveCheckpoint(scope, research);
    const mirrored = await mirrorCheckpoint(scope, mirror, checkpointId);
    expect(mirrored).toEqual({ path: null, warning: "Saved in the store, but the mirror file could not be written: The mirror's folder is a symbolic link or a file." });
    await saveNote(scope, { id: "n", content: "x" });
    expect(await mirrorNote(scope, mirror, "n")).toMatchObject({ path: null, warning: expect.stringContaining("ENOTDIR") });
    expect((await requireCheckpoint(scope, checkpointId)).thesis).toBe("Cold cache.");
  });

  test.skipIf(process.getuid?.() === 0)("a folder that may not be written to is a warning", async () => {
    const folder = await temporaryFolder();
    await chmod(folder, 0o500);
    const scope = openScope();
    await saveNote(scope, { id: "n", content: "x" });
    expect(await mirrorNote(scope, openMirror({ checkpointDir: folder, knowledgeDir: folder, namespace: "default" }), "n")).toMatchObject({
      warning: expect.stringContaining("EACCES"),
    });
  });

  test("without a local store there is no file and no complaint", async () => {
    const scope = openScope();
    const { checkpointId } = await saveCheckpoint(scope, research);
    expect(await mirrorCheckpoint(scope, undefined, checkpointId)).toEqual({ path: null });
  });
});

describe("nothing leads out of the folder", () => {
  test.each(["", ".", "..", "../x", "a/b", "a\\b", ".hidden", "a\0b", "x".repeat(201), "\ud800"])("the name %j is refused", async (name) => {
    const folder = await temporaryFolder();
    await expect(writeMirrorFile(join(folder, "in"), [], name, "x")).rejects.toMatchObject({ code: "invalid_input" });
    await expect(writeMirrorFile(join(folder, "in"), [name], "x", "x")).rejects.toMatchObject({ code: "invalid_input" });
    expect(await readdir(folder)).toEqual(["in"]);
    expect(await readdir(join(folder, "in"))).toEqual([]);
  });

  test("a symbolic link in the place of the folder, a folder below it or the file is refused, and its target is left alone", async () => {
    const folder = await temporaryFolder();
    const outside = join(folder, "outside");
    await mkdir(outside);
    await writeFile(join(outside, "secret"), "untouched");
    await symlink(outside, join(folder, "linked"));
    await expect(writeMirrorFile(join(folder, "linked"), [], "x.md", "x")).rejects.toThrow(/symbolic link/);
    await mkdir(join(folder, "real"));
    await symlink(outside, join(folder, "real", "below"));
    await expect(writeMirrorFile(join(folder, "real"), ["below"], "x.md", "x")).rejects.toThrow(/symbolic link/);
    await symlink(join(outside, "secret"), join(folder, "real", "x.md"));
    await expect(writeMirrorFile(join(folder, "real"), [], "x.md", "x")).rejects.toThrow(/not a regular file/);
    await symlink(join(outside, "new"), join(folder, "real", "y.md"));
    await expect(writeMirrorFile(join(folder, "real"), [], "y.md", "x")).rejects.toThrow(/not a regular file/);
    expect(await readdir(outside)).toEqual(["secret"]);
    expect(await readFile(join(outside, "secret"), "utf8")).toBe("untouched");
    expect((await readdir(join(folder, "real"))).filter((name) => basename(name).endsWith(".tmp"))).toEqual([]);
  });

  test("a folder that is there keeps its mode; parents may be links, as temporary folders are on some systems", async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, "real", "repo"), { recursive: true });
    await chmod(join(folder, "real", "repo"), 0o755);
    await symlink(join(folder, "real"), join(folder, "link"));
    await writeMirrorFile(join(folder, "link", "repo"), [], "x.md", "x");
    expect(await modeOf(join(folder, "real", "repo"))).toBe(0o755);
    expect(await modeOf(join(folder, "real", "repo", "x.md"))).toBe(0o600);
  });
});
