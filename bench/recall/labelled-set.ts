import { createHash } from "node:crypto";
import { nearMisses } from "./near-misses.ts";
import { setLines } from "./set-lines.ts";

export interface Note {
  readonly id: string;
  readonly text: string;
}

export interface Question {
  readonly id: string;
  readonly text: string;
  readonly kind: string;
  /** The note that answers it; absent if no note does. */
  readonly note?: string;
  /** Settings are chosen on one half; scores come from the other. Halves follow from the question's hash, so adding a question does not move others. */
  readonly half: "tune" | "test";
}

export interface LabelledSet {
  readonly notes: readonly Note[];
  readonly questions: readonly Question[];
}

const englishKinds: Readonly<Record<string, string>> = { x: "exact", i: "inflected", f: "identifier", r: "rephrased", t: "mistyped", p: "paraphrase" };
/** Paraphrases written after the table of synonyms was complete, and those written before the semantic table was created. */
const ages: Readonly<Record<string, string>> = { "english-fresh.txt": "fresh ", "english-unseen.txt": "unseen " };
const languageNames: Readonly<Record<string, string>> = {
  de: "German",
  es: "Spanish",
  fr: "French",
  ru: "Russian",
  zh: "Chinese",
  ja: "Japanese",
  th: "Thai",
  ar: "Arabic",
};

/** The set as it is written in `set/`: real notes with their questions, near misses around them, and questions that no note answers. */
export function readLabelledSet(folder: string): LabelledSet {
  const notes: Note[] = [];
  const questions: Question[] = [];
  const ask = (text: string, kind: string, note?: string): void => {
    const id = `q-${createHash("sha256").update(text).digest("hex").slice(0, 8)}`;
    // Fresh and unseen questions are only for scoring: tuning on them would defeat their purpose.
    const half = !/^(?:fresh|unseen) /.test(kind) && Number.parseInt(id.slice(-1), 16) % 2 === 0 ? "tune" : "test";
    questions.push({ id, text, kind, note, half });
  };
  for (const file of ["english.txt", "english-fresh.txt", "english-unseen.txt", "languages.txt"]) {
    let language = "";
    for (const [number, line] of setLines(folder, file)) {
      const text = line.slice(2);
      const sign = line.slice(0, 1);
      if (sign === "L") language = requireName(languageNames, text, file, number);
      else if (sign === "N") notes.push({ id: `note-${String(notes.length + 1).padStart(4, "0")}`, text });
      else {
        const kind = sign === "q" ? language : requireName(englishKinds, sign, file, number);
        ask(text, kind === "paraphrase" ? `${ages[file] ?? ""}${kind}` : kind, notes.at(-1)?.id);
      }
    }
  }
  for (const [, line] of setLines(folder, "unrelated.txt")) ask(line, "unrelated");
  for (const [, line] of setLines(folder, "unrelated-unseen.txt")) ask(line, "unseen unrelated");
  const written = notes.length;
  for (const text of nearMisses(folder)) notes.push({ id: `near-${String(notes.length - written + 1).padStart(4, "0")}`, text });
  return { notes, questions };
}

function requireName(names: Readonly<Record<string, string>>, sign: string, file: string, line: number): string {
  const name = names[sign];
  if (name === undefined) throw new Error(`${file}:${line}: must be one of ${Object.keys(names).join(", ")}, not ${JSON.stringify(sign)}`);
  return name;
}
