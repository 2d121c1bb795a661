import { join } from "node:path";
import { findText } from "../../src/search/find-text.ts";
import { quantile } from "../rounds.ts";
import type { LabelledSet, Note } from "./labelled-set.ts";
import type { NoteStore } from "./note-store.ts";
import { openNoteStore } from "./note-store.ts";

export interface Growth {
  readonly entries: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** The same in processor time, which is reliable even while other programs use the machine. */
  readonly p95CpuMs: number;
  /** Median time to save one more note, durably, one at a time. */
  readonly saveMs: number;
  readonly fillPerSecond: number;
}

const savesMeasured = 100;
const wordsPerNote = 25;

/** The cost of a question and of a save in a small store and in a large one. */
export async function measureGrowth(folder: string, set: LabelledSet, sizes: readonly number[]): Promise<Growth[]> {
  const stores: { notes: NoteStore; entries: number; fillPerSecond: number }[] = [];
  const figures: Growth[] = [];
  try {
    for (const entries of sizes) {
      const notes = await openNoteStore(join(folder, `notes-${entries}.db`));
      const startedMs = performance.now();
      await notes.fill(madeUpNotes(set, entries));
      stores.push({ notes, entries, fillPerSecond: (entries * 1_000) / (performance.now() - startedMs) });
    }
    // Saves alternate, so that a disk that is slow for a while is slow for all of them.
    const saves = stores.map((): number[] => []);
    for (let i = 0; i < savesMeasured; i += 1)
      for (const [s, { notes }] of stores.entries()) saves[s]?.push(await timeOf(() => notes.save({ id: `later-${i}`, text: set.notes[i]?.text ?? "" })));
    for (const [s, { notes, entries, fillPerSecond }] of stores.entries()) {
      const times: number[] = [];
      const cpuTimes: number[] = [];
      for (const { text } of set.questions) {
        const before = process.cpuUsage();
        times.push(await timeOf(() => findText(notes.store, { areas: notes.areas, question: text, limit: 10 })));
        const { user, system } = process.cpuUsage(before);
        cpuTimes.push((user + system) / 1_000);
      }
      figures.push({
        entries,
        p50Ms: quantile(times, 0.5),
        p95Ms: quantile(times, 0.95),
        p95CpuMs: quantile(cpuTimes, 0.95),
        saveMs: quantile(saves[s] ?? [], 0.5),
        fillPerSecond,
      });
    }
  } finally {
    for (const { notes } of stores) await notes[Symbol.asyncDispose]();
  }
  return figures;
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

/** Texts of the set's own words, common ones often and rare ones rarely, as in any language: common words are the hardest for an index. */
function* madeUpNotes(set: LabelledSet, count: number): Generator<Note> {
  const counts = new Map<string, number>();
  for (const { text } of set.notes) for (const [word] of text.matchAll(/[\p{L}\p{N}_]+/gu)) counts.set(word, (counts.get(word) ?? 0) + 1);
  const words = [...counts.keys()].sort((a, b) => (counts.get(b) as number) - (counts.get(a) as number) || (a < b ? -1 : 1));
  let step = 1;
  const next = (): number => {
    step = (step * 1_103_515_245 + 12_345) % 2_147_483_648;
    return step / 2_147_483_648;
  };
  // Zipf's law, roughly: the word of rank r has a share of about 1 / r.
  const pick = (): string => words[Math.floor(words.length ** next()) - 1] ?? (words[0] as string);
  for (let n = 0; n < count; n += 1) yield { id: `made-${n}`, text: Array.from({ length: wordsPerNote }, pick).join(" ") };
}
