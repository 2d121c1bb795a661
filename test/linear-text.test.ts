import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { measured, slowTexts } from "./support/measured-functions.ts";
import { readSources } from "./support/text-expressions.ts";
import { lengths, plainRuns } from "./support/text-growth.ts";

/** Why the others are given no long text, or need none of their own. */
const elsewhere: Readonly<Record<string, string>> = {
  "domain/resume/entry-sections.ts aboutTitle": "goes through quotedInline",
  "domain/blobs/put-chunks.ts putChunk": "stores the text and looks at none of it",
  "domain/overview/search-everything.ts searchEverything": "asks a store; its text goes through questionTerms",
  "domain/research/neutral-word.ts withSaid": "puts texts together and looks at none of them",
  "domain/workspace/workspace.ts locateWorkspace": "asks the file system; a workspace has at most 4,096 characters",
  "engines/open-store.ts openEngine": "opens a store; its text goes through schemeOf and the readers of URLs",
  "engines/postgres/namespace-row.ts factsColumn": "is given a name of ours",
  "engines/postgres/namespace-row.ts unpackFacts": "reads what the engine wrote",
  "engines/redis/lua-script.ts luaScript": "is given a script of ours",
  "engines/redis/records.ts toFacts": "reads what the engine wrote",
  "engines/redis/records.ts toWrites": "reads what the engine wrote",
  "engines/redis/records.ts toRequest": "reads what the engine wrote",
  "engines/redis/records.ts toIndex": "reads what the engine wrote",
  "engines/sqlite/text-index.ts probeTerm": "compares terms that the tokenizer bounds",
  "install/client-files.ts replaceFile": "writes the text and looks at none of it",
  "kernel/nearest.ts nearest": "is called by mustBeOneOf",
  "kernel/nearest.ts quotedName": "is called by mustBeOneOf",
  "kernel/nearest.ts suggestion": "is called by mustBeOneOf",
  "surfaces/cli/cli-vocabulary.ts inCliWords": "is given a tool's own description",
  "surfaces/connect/failure-line.ts refusalLine": "goes through messagesIn",
  "surfaces/connect/messages-in.ts parseBounded": "is called by messagesIn",
  "surfaces/connect/target.ts requireAddress": "is called by requireTarget",
  "surfaces/connect/listen.ts updatedLine": "puts the text into JSON",
  "surfaces/mcp/http/answer-http.ts sendRpcJson": "sends the text as it is",
  "surfaces/mcp/http/answer-http.ts sendAnswer": "sends the text as it is",
  "surfaces/mcp/subscriptions.ts subscribedBytesOf": "counts bytes",
  "surfaces/proxy/read-call.ts lineFor": "sends the text as it is, or puts it into JSON",
  "tools/journal-text.ts searchResultText": "goes through quotedInline",
  "transfer/mirror/mirror-folder.ts writeMirrorFile": "writes the text and looks at none of it",
  "transfer/mirror/yaml-text.ts fromYaml": "parses with a library; its files are bounded",
  "transfer/originals/front-matter.ts parseYaml": "parses with a library; its files are bounded",
  "transfer/originals/sage.ts parseCheckpoint": "goes through splitFrontMatter, parseYaml and fieldsOfMarkdown",
};

describe("every function that is given a text takes time in proportion to it", () => {
  test("all of them are measured, or it is known why they need not be", () => {
    const { functions } = readSources(fileURLToPath(new URL("../src", import.meta.url)));
    expect(functions.length).toBeGreaterThan(50);
    expect(functions.filter((name) => !(name in measured) && !(name in elsewhere))).toEqual([]);
    expect(Object.keys(elsewhere).filter((name) => !functions.includes(name) || name in measured)).toEqual([]);
  });

  // With longer texts in linear-text.campaign.ts.
  test.each(Object.entries(measured))("%s", (_name, work) => {
    expect(slowTexts(work, plainRuns, lengths.quick)).toEqual([]);
  });
});
