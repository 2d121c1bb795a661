import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const wordsPerNote = 12;

/**
 * Sentences from the documentation of packages: text that people wrote about software, none of it about this project. About 30,000 come from the packages installed
 * here; for more, one is fetched.
 */
export function* naturalNotes(): Generator<string> {
  const seen = new Set<string>();
  for (const text of packageTexts()) {
    let gathered = "";
    for (const sentence of text.split(/(?<=[.!?])\s+|\n{2,}/u)) {
      const plain = sentence
        .replaceAll(/[*`#|<>[\]{}]+/gu, " ")
        .replaceAll(/\s+/gu, " ")
        .trim();
      gathered = gathered === "" ? plain : `${gathered} ${plain}`;
      if (gathered.split(" ").length < wordsPerNote) continue;
      const content = gathered.slice(0, 600);
      gathered = "";
      if (seen.has(content)) continue;
      seen.add(content);
      yield content;
    }
  }
}

function* packageTexts(): Generator<string> {
  yield* textsIn("node_modules");
  yield* textsIn(execFileSync(process.execPath, [join("scripts", "test-services", "natural-text.mjs")], { encoding: "utf8" }).trim());
}

function* textsIn(folder: string): Generator<string> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.(?:md|d\.m?ts)$/u.test(name))
    .sort();
  for (const file of files) {
    const text = readFileSync(join(folder, file), "utf8");
    if (file.endsWith(".md")) yield text;
    else for (const [comment] of text.matchAll(/\/\*\*[\s\S]*?\*\//gu)) yield comment.replaceAll(/^\s*\/?\*+\/?/gmu, "");
  }
}
