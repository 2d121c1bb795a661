import type { Recall } from "./main.ts";
import type { KindScore, Scores } from "./score.ts";

const begin = "<!-- scores: written by npm run bench:recall -- --write -->";
const end = "<!-- /scores -->";

/** The scores as Markdown, for the terminal and for docs/search.md. */
export function renderRecall({ half, notes, shipped, ablations, growth, indexPerSecond }: Recall): string {
  const answerable = shipped.all.questions;
  const parts = [
    `${notes.toLocaleString("en-US")} notes; ${answerable} questions with an answer and ${shipped.unrelated} without one (the ${half} half).\n`,
    renderKinds(shipped),
    `${renderSilence(shipped)} p95 of a question: ${shipped.p95Ms.toFixed(1)} ms. Indexing: ${Math.round(indexPerSecond).toLocaleString("en-US")} notes a second.\n`,
    table(
      ["", "hit@1", "hit@3", "paraphrases hit@3", "other languages hit@3", "false recalls"],
      [{ name: "as shipped", scores: shipped }, ...ablations].map(({ name, scores }) => [
        name,
        percent(scores.all.hit1),
        percent(scores.all.hit3),
        percent(together(scores.kinds, (kind) => kind.endsWith("paraphrase"))),
        percent(together(scores.kinds, (kind) => /^[A-Z]/.test(kind))),
        `${scores.falseRecalls} of ${scores.unrelated}`,
      ]),
    ),
  ];
  if (growth.length > 0)
    parts.push(
      table(
        ["entries", "question p50", "question p95", "p95, processor time", "save of one note", "notes indexed a second"],
        growth.map(({ entries, p50Ms, p95Ms, p95CpuMs, saveMs, fillPerSecond }) => [
          entries.toLocaleString("en-US"),
          `${p50Ms.toFixed(1)} ms`,
          `${p95Ms.toFixed(1)} ms`,
          `${p95CpuMs.toFixed(1)} ms`,
          `${saveMs.toFixed(2)} ms`,
          Math.round(fillPerSecond).toLocaleString("en-US"),
        ]),
      ),
    );
  return parts.join("\n");
}

/** The parts that follow from the code and the set alone. A test compares docs/search.md with them. */
export const renderKinds = ({ kinds, all }: Scores): string => table(["kind of question", "questions", "hit@1", "hit@3", "MRR"], [...kinds, all].map(kindRow));
export const renderSilence = ({ silence }: Scores): string =>
  `Questions that no note answers but that got an answer: ${silence.map(({ kind, questions, answered }) => `${kind} ${answered} of ${questions}`).join(", ")}.`;

/** The page with its scores replaced; throws if the page has no place for them. */
export function replaceScores(page: string, text: string): string {
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from === -1 || to < from) throw new Error(`docs/search.md has no place for the scores: ${begin} … ${end}`);
  return `${page.slice(0, from + begin.length)}\n\n${text}\n${page.slice(to)}`;
}

const kindRow = ({ kind, questions, hit1, hit3, meanReciprocalRank }: KindScore): string[] => [
  kind,
  String(questions),
  percent(hit1),
  percent(hit3),
  meanReciprocalRank.toFixed(2),
];

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

function together(kinds: readonly KindScore[], isOne: (kind: string) => boolean): number {
  const some = kinds.filter(({ kind }) => isOne(kind));
  const questions = some.reduce((sum, kind) => sum + kind.questions, 0);
  return questions === 0 ? 0 : some.reduce((sum, kind) => sum + kind.hit3 * kind.questions, 0) / questions;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |\n`;
  return `${line(head)}${line(head.map((_, i) => (i === 0 ? "---" : "---:")))}${rows.map(line).join("")}`;
}
