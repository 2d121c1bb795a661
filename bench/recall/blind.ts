import { join } from "node:path";
import { openEmbedChore } from "../../src/domain/findable/embed-notes.ts";
import { NoteVectors } from "../../src/domain/findable/note-vectors.ts";
import { recallNotes } from "../../src/domain/knowledge/recall.ts";
import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { estimateTokens } from "../../src/kernel/tokens.ts";
import type { Embedder } from "../../src/search/embedder.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { Scope } from "../../src/store/transact.ts";
import { quantile } from "../rounds.ts";
import type { SavedWay, Worded, WordedQuestion } from "./worded-set.ts";
import { fillWorded, kinds, readQuestions, savedWays } from "./worded-set.ts";

type AskedWay = "one question" | "four wordings";

export interface WordedRow {
  readonly system: string;
  readonly notes: number;
  readonly saved: SavedWay;
  readonly asked: AskedWay;
  /** The fraction of the questions of a kind with the right answer (for unrelated and near-miss questions: with any answer) in `items`; in `items` or `maybe`. */
  readonly items: Readonly<Record<WordedQuestion["kind"], number>>;
  readonly either: Readonly<Record<WordedQuestion["kind"], number>>;
  /** For one recall. */
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** For this process: absent if another one answers. */
  readonly p95CpuMs?: number;
  readonly tokens: number;
}

/** The result of a system: ids of notes, best first. */
export interface Recalled {
  readonly items: readonly string[];
  readonly maybe: readonly string[];
  readonly tokens: number;
}

export const answersMax = 3;
const maxTokens = 2_000;

export interface BlindOptions {
  readonly folder: string;
  readonly set: Worded;
  readonly size: number;
  /** If present, notes are also recalled by meaning. */
  readonly embedder?: Embedder;
  readonly progress: (text: string) => void;
}

/** One row for each way to save and to ask, in a store of this many notes: the notes beyond the set are natural text. */
export async function* measureBlind({ folder, set, size, embedder, progress }: BlindOptions): AsyncGenerator<WordedRow> {
  for (const saved of savedWays) {
    await using engine = await openEngine(`sqlite:${join(folder, `${set}-${size}-${saved.replace(" ", "-")}.db`)}`);
    const scope: Scope = { store: openNamespaceStore(engine, "bench", systemClock), writer: "bench", clock: systemClock } as Scope;
    const notes = await fillWorded(engine, scope, saved, size, set);
    const vectors = embedder && (await embedAll(scope, embedder));
    const ask = async (query: string, also: readonly string[] | undefined): Promise<Recalled> => {
      const { notes: found, maybe, totalTokens } = await recallNotes(scope, { query, also, limit: answersMax, maxTokens, vectors });
      return {
        items: found.map(({ id }) => id),
        maybe: maybe.map(({ id }) => id),
        tokens: totalTokens + maybe.reduce((sum, { id, title }) => sum + estimateTokens(`${id}: ${title}`), 0),
      };
    };
    const system = `Holdfast${embedder === undefined ? "" : `, ${embedder.modelId}`}`;
    for (const asked of ["one question", "four wordings"] as const) yield { system, notes, saved, asked, ...(await scoreQuestions(set, asked, ask, progress)) };
  }
}

async function embedAll({ store }: Scope, embedder: Embedder): Promise<NoteVectors> {
  const vectors = new NoteVectors(embedder, systemClock);
  const perform = openEmbedChore(embedder, vectors, systemClock);
  const never = new AbortController().signal;
  while (await perform(store, never));
  return vectors;
}

/** Asks every question of a set, and compares the results with its label. */
export async function scoreQuestions(
  set: Worded,
  asked: AskedWay,
  ask: (query: string, also: readonly string[] | undefined) => Promise<Recalled>,
  progress: (text: string) => void,
): Promise<Omit<WordedRow, "system" | "notes" | "saved" | "asked">> {
  const { questions, also } = readQuestions(set);
  const items = new Map<string, boolean[]>();
  const either = new Map<string, boolean[]>();
  const times: number[] = [];
  const cpuTimes: number[] = [];
  let tokens = 0;
  for (const [i, { id, kind, text, note }] of questions.entries()) {
    if (i % 100 === 0) progress(`${set}, ${asked}: ${i} of ${questions.length}`);
    const cpu = process.cpuUsage();
    const startedMs = performance.now();
    const recalled = await ask(text, asked === "one question" ? undefined : also.get(id));
    times.push(performance.now() - startedMs);
    const { user, system } = process.cpuUsage(cpu);
    cpuTimes.push((user + system) / 1_000);
    tokens += recalled.tokens;
    const possible = [...recalled.items, ...recalled.maybe];
    push(items, kind, note === undefined ? recalled.items.length > 0 : recalled.items.includes(note));
    push(either, kind, note === undefined ? possible.length > 0 : possible.includes(note));
  }
  return {
    items: sharesOf(items),
    either: sharesOf(either),
    p50Ms: quantile(times, 0.5),
    p95Ms: quantile(times, 0.95),
    p95CpuMs: quantile(cpuTimes, 0.95),
    tokens: tokens / questions.length,
  };
}

export const blindHeading = `Shares found in \`items\` / in \`items\` or \`maybe\`; of unrelated and near-miss questions: answered at all.

| system | notes | saved | asked | near | other words | other language | unrelated | near-miss | p50 | p95 | p95 CPU | tokens |
|---|---:|---|---|---|---|---|---|---|---:|---:|---:|---:|`;

export function renderBlind({ system, notes, saved, asked, items, either, p50Ms, p95Ms, p95CpuMs, tokens }: WordedRow): string {
  const shares = kinds.map((kind) => (Number.isNaN(items[kind]) ? "" : `${items[kind].toFixed(2)} / ${either[kind].toFixed(2)}`));
  const times = [p50Ms, p95Ms, p95CpuMs].map((ms) => (ms === undefined ? "" : `${ms.toFixed(1)} ms`));
  return `| ${[system, notes.toLocaleString("en-US"), saved, asked, ...shares, ...times, tokens.toFixed(0)].join(" | ")} |`;
}

const push = (map: Map<string, boolean[]>, kind: string, value: boolean): void => void map.set(kind, [...(map.get(kind) ?? []), value]);

const sharesOf = (map: ReadonlyMap<string, readonly boolean[]>): WordedRow["items"] =>
  Object.fromEntries(kinds.map((kind) => [kind, (map.get(kind) ?? []).filter(Boolean).length / (map.get(kind) ?? []).length])) as WordedRow["items"];
