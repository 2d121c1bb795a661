import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openEndpointEmbedder } from "../../src/embeddings/endpoint-embedder.ts";
import { openOnnxEmbedder } from "../../src/embeddings/onnx-embedder.ts";
import type { Embedder } from "../../src/search/embedder.ts";
import { ablations, product } from "./ablations.ts";
import type { WordedRow } from "./blind.ts";
import { blindHeading, measureBlind, renderBlind } from "./blind.ts";
import type { Growth } from "./growth.ts";
import { measureGrowth } from "./growth.ts";
import type { LabelledSet } from "./labelled-set.ts";
import { readLabelledSet } from "./labelled-set.ts";
import { openNoteStore } from "./note-store.ts";
import { measurePeers } from "./peers.ts";
import { renderRecall, replaceScores } from "./render-recall.ts";
import type { Scores } from "./score.ts";
import { score } from "./score.ts";
import { worded } from "./worded-set.ts";

const help = `npm run bench:recall -- [--half tune|test] [--entries COUNT] [--write] [--export FOLDER] [--blind SIZES [--set SET] [--embeddings URL] [--peers]]

Asks the labelled questions of bench/recall/set and prints how many are answered, with ablations and times.

  --half HALF       the questions to score (default test; settings were chosen on tune)
  --entries COUNT   size of the large store for the times (default 100000; 0 omits the times)
  --write           put the scores into docs/search.md
  --blind SIZES     only ask the blind set (bench/recall/blind), in stores of these numbers of notes, for example 160,3000,100000
  --set SET         with --blind: ask the set "tune" (bench/recall/tune) instead, on which cut-offs may be chosen
  --embeddings URL  with --blind: recall by meaning too, with an endpoint (and --embeddings-model NAME) or onnx:FOLDER
  --peers           with --blind: ask other memory servers too, with only the set's own notes
  --export FOLDER   only write the set, as notes.jsonl and questions.jsonl
`;

export interface Recall {
  readonly half: string;
  readonly notes: number;
  readonly shipped: Scores;
  readonly ablations: readonly { readonly name: string; readonly scores: Scores }[];
  readonly growth: readonly Growth[];
  readonly indexPerSecond: number;
}

const { values: flags } = parseArgs({
  options: {
    half: { type: "string", default: "test" },
    entries: { type: "string", default: "100000" },
    write: { type: "boolean" },
    export: { type: "string" },
    blind: { type: "string" },
    set: { type: "string", default: "blind" },
    embeddings: { type: "string" },
    "embeddings-model": { type: "string" },
    peers: { type: "boolean" },
    help: { type: "boolean" },
  },
});
const set = readLabelledSet(join("bench", "recall", "set"));

if (flags.help === true) process.stdout.write(help);
else if (flags.export !== undefined) exportSet(set, flags.export);
else if (flags.blind !== undefined) await runBlind(flags.blind.split(",").map(Number));
else await run();

async function run(): Promise<void> {
  if (flags.half !== "tune" && flags.half !== "test") throw new Error("--half: must be tune or test");
  const entries = Number(flags.entries);
  if (!Number.isSafeInteger(entries) || entries < 0) throw new Error("--entries: must be a whole number");
  mkdirSync("build", { recursive: true });
  const folder = mkdtempSync(join("build", "recall-"));
  try {
    const recall = await measure(folder, flags.half, entries);
    const text = renderRecall(recall);
    process.stdout.write(text);
    const page = join("docs", "search.md");
    if (flags.write === true) writeFileSync(page, replaceScores(readFileSync(page, "utf8"), text));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runBlind(sizes: readonly number[]): Promise<void> {
  if (!sizes.every((size) => Number.isSafeInteger(size) && size > 0)) throw new Error("--blind: must be whole numbers separated by commas");
  mkdirSync("build", { recursive: true });
  const folder = mkdtempSync(join("build", "recall-"));
  try {
    const set = worded.find((name) => name === flags.set);
    if (set === undefined) throw new Error(`--set: must be one of ${worded.join(", ")}`);
    const embedder = flags.embeddings === undefined ? undefined : await openEmbedder(flags.embeddings, flags["embeddings-model"]);
    const progress = (text: string): void => void (process.stderr.isTTY && process.stderr.write(`\r\u001b[K${text}`));
    const print = (row: WordedRow): void => {
      if (process.stderr.isTTY) process.stderr.write("\r\u001b[K");
      process.stdout.write(`${renderBlind(row)}\n`);
    };
    process.stdout.write(`${blindHeading}\n`);
    for (const size of sizes) for await (const row of measureBlind({ folder, set, size, embedder, progress })) print(row);
    if (flags.peers === true) for await (const row of measurePeers({ folder, set, progress })) print(row);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function openEmbedder(embeddings: string, model = ""): Promise<Embedder> {
  return embeddings.startsWith("onnx:") ? openOnnxEmbedder(embeddings.slice("onnx:".length)) : openEndpointEmbedder({ url: embeddings, model });
}

async function measure(folder: string, half: "tune" | "test", entries: number): Promise<Recall> {
  const questions = set.questions.filter((question) => question.half === half);
  await using notes = await openNoteStore(join(folder, "shipped.db"));
  const startedMs = performance.now();
  await notes.fill(set.notes);
  const indexPerSecond = (set.notes.length * 1_000) / (performance.now() - startedMs);
  const shipped = await score(questions, (question) => product.ask(notes, question));
  const without: { name: string; scores: Scores }[] = [];
  for (const [i, variant] of ablations.entries()) {
    if (variant.abilities === undefined) without.push({ name: variant.name, scores: await score(questions, (question) => variant.ask(notes, question)) });
    else {
      await using others = await openNoteStore(join(folder, `without-${i}.db`), variant.abilities);
      await others.fill(set.notes);
      without.push({ name: variant.name, scores: await score(questions, (question) => variant.ask(others, question)) });
    }
  }
  const growth = entries === 0 ? [] : await measureGrowth(folder, set, [1_000, entries]);
  return { half, notes: set.notes.length, shipped, ablations: without, growth, indexPerSecond };
}

function exportSet({ notes, questions }: LabelledSet, folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, rows] of Object.entries({ notes, questions })) writeFileSync(join(folder, `${name}.jsonl`), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
}
