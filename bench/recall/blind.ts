import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { noteWrite, saveNote } from "../../src/domain/knowledge/knowledge.ts";
import { recallNotes } from "../../src/domain/knowledge/recall.ts";
import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { estimateTokens } from "../../src/kernel/tokens.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { prepareCommit } from "../../src/store/prepare-commit.ts";
import type { Scope } from "../../src/store/transact.ts";
import { quantile } from "../rounds.ts";

/**
 * A set whose notes, questions, note-side words and question-side words were written by four parties that did not see each other's work (the
 * questions and the note-side words were written from the notes alone, the other wordings from the questions alone). Nothing was tuned on it.
 */
const folder = join("bench", "recall", "blind");

interface BlindNote {
  readonly id: string;
  readonly content: string;
}
interface Saved {
  readonly id: string;
  readonly keywords: readonly string[];
  readonly questions: readonly string[];
}
interface BlindQuestion {
  readonly id: string;
  readonly kind: "near" | "other words" | "other language" | "unrelated" | "near-miss";
  readonly text: string;
  readonly note?: string;
}
const lines = <Line>(file: string): readonly Line[] =>
  readFileSync(join(folder, file), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Line);

const kinds = ["near", "other words", "other language", "unrelated", "near-miss"] as const;

export interface BlindRow {
  readonly notes: number;
  readonly saved: "plain" | "with words";
  readonly asked: "one question" | "four wordings";
  /** Shares of the questions of a kind: answered rightly (of unrelated and near-miss: answered at all) in `items`; in `items` or `maybe`. */
  readonly items: Readonly<Record<BlindQuestion["kind"], number>>;
  readonly either: Readonly<Record<BlindQuestion["kind"], number>>;
  /** Of one recall. */
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p95CpuMs: number;
  readonly tokens: number;
}

const limit = 3;
const maxTokens = 2_000;
const commitsPerBatch = 500;

/** One row for each way to save and to ask, in a store of so many notes: what is more than the set is natural text from the installed packages. */
export async function* measureBlind(storeFolder: string, size: number, progress: (text: string) => void): AsyncGenerator<BlindRow> {
  const notes = lines<BlindNote>("notes.jsonl");
  const words = new Map(lines<Saved>("saved.jsonl").map((each) => [each.id, each]));
  const questions = lines<BlindQuestion>("questions.jsonl");
  const also = new Map(lines<{ readonly id: string; readonly also: readonly string[] }>("also.jsonl").map((each) => [each.id, each.also]));
  for (const saved of ["plain", "with words"] as const) {
    await using engine = await openEngine(`sqlite:${join(storeFolder, `blind-${size}-${saved.replace(" ", "-")}.db`)}`);
    const scope: Scope = { store: openNamespaceStore(engine, "bench", systemClock), writer: "bench", clock: systemClock } as Scope;
    for (const { id, content } of notes)
      await saveNote(scope, { id, content, ...(saved === "plain" ? {} : { keywords: words.get(id)?.keywords, questions: words.get(id)?.questions }) });
    let batch: ReturnType<typeof prepareCommit>[] = [];
    const flush = async (): Promise<void> => void (await engine.commit("bench", batch.splice(0)));
    let added = notes.length;
    for (const content of naturalNotes()) {
      if (added >= size) break;
      batch.push(prepareCommit({ writes: [noteWrite(`text-${added}`, { content, keywords: [], status: "active", trust: "medium" }, "save")], writer: "bench" }));
      added += 1;
      if (batch.length === commitsPerBatch) await flush();
    }
    if (batch.length > 0) await flush();
    batch = [];
    for (const asked of ["one question", "four wordings"] as const) {
      const items = new Map<string, boolean[]>();
      const either = new Map<string, boolean[]>();
      const times: number[] = [];
      const cpuTimes: number[] = [];
      let tokens = 0;
      for (const [i, { id, kind, text, note }] of questions.entries()) {
        if (i % 100 === 0) progress(`blind set, ${added.toLocaleString("en-US")} notes, ${saved}, ${asked}: ${i} of ${questions.length}`);
        const cpu = process.cpuUsage();
        const startedMs = performance.now();
        const recall = await recallNotes(scope, { query: text, limit, maxTokens, ...(asked === "one question" ? {} : { also: also.get(id) }) });
        times.push(performance.now() - startedMs);
        const { user, system } = process.cpuUsage(cpu);
        cpuTimes.push((user + system) / 1_000);
        tokens += recall.totalTokens + recall.maybe.reduce((sum, each) => sum + estimateTokens(`${each.id}: ${each.title}`), 0);
        const found = recall.notes.map((each) => each.id);
        const possible = [...found, ...recall.maybe.map((each) => each.id)];
        push(items, kind, note === undefined ? found.length > 0 : found.includes(note));
        push(either, kind, note === undefined ? possible.length > 0 : possible.includes(note));
      }
      yield {
        notes: added,
        saved,
        asked,
        items: sharesOf(items),
        either: sharesOf(either),
        p50Ms: quantile(times, 0.5),
        p95Ms: quantile(times, 0.95),
        p95CpuMs: quantile(cpuTimes, 0.95),
        tokens: tokens / questions.length,
      };
    }
  }
}

export const blindHeading = `Shares found in \`items\` / in \`items\` or \`maybe\`; of unrelated and near-miss questions: answered at all.

| notes | saved | asked | near | other words | other language | unrelated | near-miss | p50 | p95 | p95 CPU | tokens |
|---:|---|---|---|---|---|---|---|---:|---:|---:|---:|`;

export const renderBlind = ({ notes, saved, asked, items, either, p50Ms, p95Ms, p95CpuMs, tokens }: BlindRow): string =>
  `| ${notes.toLocaleString("en-US")} | ${saved} | ${asked} | ${kinds.map((kind) => `${items[kind].toFixed(2)} / ${either[kind].toFixed(2)}`).join(" | ")} | ${p50Ms.toFixed(1)} ms | ${p95Ms.toFixed(1)} ms | ${p95CpuMs.toFixed(1)} ms | ${tokens.toFixed(0)} |`;

const push = (map: Map<string, boolean[]>, kind: string, value: boolean): void => void map.set(kind, [...(map.get(kind) ?? []), value]);

const sharesOf = (map: ReadonlyMap<string, readonly boolean[]>): BlindRow["items"] =>
  Object.fromEntries(kinds.map((kind) => [kind, (map.get(kind) ?? []).filter(Boolean).length / (map.get(kind) ?? []).length])) as BlindRow["items"];

const wordsPerNote = 12;

/** Sentences from the documentation of the installed packages: what people wrote about software, and nothing of this project. */
function* naturalNotes(): Generator<string> {
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
  if (!existsSync("node_modules")) return;
  const files = (readdirSync("node_modules", { recursive: true, encoding: "utf8" }) as string[]).filter((name) => /\.(?:md|d\.m?ts)$/u.test(name)).sort();
  for (const file of files) {
    const text = readFileSync(join("node_modules", file), "utf8");
    if (file.endsWith(".md")) yield text;
    else for (const [comment] of text.matchAll(/\/\*\*[\s\S]*?\*\//gu)) yield comment.replaceAll(/^\s*\/?\*+\/?/gmu, "");
  }
}
