import { join } from "node:path";
import { openEngine } from "../src/engines/open-store.ts";
import { systemClock } from "../src/kernel/clock.ts";
import { searchHits } from "../src/search/find-text.ts";
import { indexText } from "../src/search/index-text.ts";
import { openNamespaceStore } from "../src/store/namespace-store.ts";
import { prepareCommit } from "../src/store/prepare-commit.ts";
import type { PreparedCommit } from "../src/store/store.ts";
import type { Figure } from "./report.ts";
import { quantile } from "./rounds.ts";
import type { Surroundings } from "./surroundings.ts";

const notes = 100_000;
const notesPerCommit = 16;
const commitsPerBatch = 256;
const questions = 400;
const vocabulary = 20_000;
const area = "notes";

/** Full text search in many notes: word frequencies are as uneven as in real text: a few words are in almost every note, most in very few. */
export async function measureSearch({ folder, progress }: Surroundings): Promise<Figure[]> {
  const engine = await openEngine(`sqlite:${join(folder, "search.db")}`);
  const store = openNamespaceStore(engine, "bench", systemClock);
  try {
    const startedMs = performance.now();
    for (let written = 0; written < notes; ) {
      const batch: PreparedCommit[] = [];
      for (; batch.length < commitsPerBatch && written < notes; written += notesPerCommit) {
        const writes = Array.from({ length: notesPerCommit }, (_, i) => {
          const text = Array.from({ length: 24 }, anyWord).join(" ");
          return { op: "put" as const, key: `note/${written + i}`, value: { text }, index: indexText(area, [{ text, weight: 1 }]) };
        });
        batch.push(prepareCommit({ writes, writer: "bench" }));
      }
      await engine.commit(store.namespace, batch);
      progress(`search: ${written.toLocaleString("en-US")} of ${notes.toLocaleString("en-US")} notes indexed`);
    }
    const indexedPerSecond = (notes / (performance.now() - startedMs)) * 1_000;
    const takenMs: number[] = [];
    let found = 0;
    for (let i = 0; i < questions; i += 1) {
      const question = Array.from({ length: 2 + (i % 4) }, anyWord).join(" ");
      const beforeMs = performance.now();
      const { hits } = await searchHits(store, { areas: [area], question });
      takenMs.push(performance.now() - beforeMs);
      if (hits.length > 0) found += 1;
    }
    if (found < questions / 2) throw new Error(`Only ${found} of ${questions} questions found anything, so this measures nothing.`);
    return [
      {
        what: `search in ${notes.toLocaleString("en-US")} notes, p95`,
        unit: "ms",
        value: { median: quantile(takenMs, 0.95), min: Math.min(...takenMs), max: Math.max(...takenMs) },
        budget: { atMost: 30 },
      },
      {
        what: `search in ${notes.toLocaleString("en-US")} notes, median`,
        unit: "ms",
        value: { median: quantile(takenMs, 0.5), min: Math.min(...takenMs), max: Math.max(...takenMs) },
      },
      { what: "notes indexed in large batches", unit: "per second", value: { median: indexedPerSecond, min: indexedPerSecond, max: indexedPerSecond } },
    ];
  } finally {
    await engine[Symbol.asyncDispose]();
  }
}

/** Zipf's law, approximately: the frequency of word n is proportional to 1/n. */
const anyWord = (): string => wordOf(Math.floor(vocabulary ** Math.random()) - 1);

/** Only letters, in syllables, so that the tokenizer treats each as one ordinary word. */
function wordOf(n: number): string {
  const syllables = ["ka", "mo", "ri", "tel", "sun", "ba", "dor", "fin", "gul", "hep", "jan", "lor", "nim", "pas", "quo", "vex"];
  let word = "";
  for (let rest = n + 16; rest > 0; rest = Math.floor(rest / syllables.length)) word += syllables[rest % syllables.length];
  return word;
}
