import type { Clock } from "../../kernel/clock.ts";
import { isHoldfastError } from "../../kernel/errors.ts";
import type { Embedder } from "../../search/embedder.ts";
import { isRefusedText } from "../../search/embedder.ts";
import type { ShortVector } from "../../search/short-vector.ts";
import { toShortVector } from "../../search/short-vector.ts";
import { unrelatedQuestions } from "../../search/unrelated-questions.ts";
import { keyRange, rangeAfter } from "../../store/ranges.ts";
import type { Entry, Range, Revision, Store, Write } from "../../store/store.ts";
import { systemWriter } from "../../store/store.ts";
import { knowledgeKeys, vectorKeys } from "../keyspace.ts";
import { isRecallable, toNoteContent } from "../knowledge/note.ts";
import type { NoteVectors } from "./note-vectors.ts";
import type { Chance } from "./stored-vectors.ts";
import { chanceWrite, isLatin, textsToEmbed, toStoredVectors, vectorsWrite } from "./stored-vectors.ts";

/** Notes per turn of the chore, and texts per call of the model. */
const turn = { notes: 32, texts: 16 } as const;
/** Chance similarity is measured again when the number of vectors has grown or shrunk by this factor. */
const growth = 1.25;

/**
 * A chore that creates vectors for recallable notes without any of this model or with outdated ones, and deletes vectors that are no longer needed. Returns
 * whether there is more to do at once. It goes through all notes first and then follows the log. Vectors leave no history record; notes are not changed.
 */
export function openEmbedChore(embedder: Embedder, vectors: NoteVectors, clock: Clock): (store: Store, signal: AbortSignal) => Promise<boolean> {
  let rest: Range | undefined = knowledgeKeys.all;
  let orphans: Range | undefined = vectorKeys.notes;
  let after: Revision | undefined;
  // Chance similarity depends on the vectors, so it is checked at the start and whenever they change.
  let isMeasured = false;
  return async (store, signal) => {
    after ??= (await store.position()).revision;
    if (rest !== undefined) {
      const { names, next } = await readNames(store, rest, knowledgeKeys.nameOf);
      if (await embedNotes(store, names, embedder, signal)) isMeasured = false;
      rest = next;
      return true;
    }
    if (orphans !== undefined) {
      const { names, next } = await readNames(store, orphans, vectorKeys.nameOf);
      if (await embedNotes(store, names, embedder, signal)) isMeasured = false;
      orphans = next;
      return true;
    }
    try {
      const { rows, through, done } = await store.log({ ranges: [knowledgeKeys.all], after, limit: turn.notes, values: false });
      if (await embedNotes(store, [...new Set(rows.map(({ key }) => knowledgeKeys.nameOf(key)))], embedder, signal)) isMeasured = false;
      after = through;
      if (!done) return true;
    } catch (error) {
      if (!isHoldfastError(error, "compacted")) throw error;
      [rest, orphans, after] = [knowledgeKeys.all, vectorKeys.notes, undefined];
      return true;
    }
    if (!isMeasured) await measureChance(store, embedder, vectors, clock, signal);
    isMeasured = true;
    return false;
  };
}

async function readNames(store: Store, range: Range, nameOf: (key: string) => string): Promise<{ readonly names: readonly string[]; readonly next: Range | undefined }> {
  const { entries, more } = await store.read(range, { limit: turn.notes, values: false });
  const last = entries.at(-1);
  return { names: entries.map(({ key }) => nameOf(key)), next: more && last !== undefined ? rangeAfter(range, last.key) : undefined };
}

/** Returns whether vectors have changed. */
async function embedNotes(store: Store, names: readonly string[], embedder: Embedder, signal: AbortSignal): Promise<boolean> {
  if (names.length === 0) return false;
  const { entries } = await store.read(names.flatMap((name) => [keyRange(knowledgeKeys.note(name)), keyRange(vectorKeys.note(name))]));
  const byKey = new Map(entries.map((entry) => [entry.key, entry]));
  const writes: Write[] = [];
  const missing: { readonly name: string; readonly note: Entry; readonly texts: readonly string[] }[] = [];
  for (const name of names) {
    const note = byKey.get(knowledgeKeys.note(name));
    const known = byKey.get(vectorKeys.note(name));
    const content = note && toNoteContent(note);
    if (note === undefined || content === undefined || !isRecallable(content)) {
      // A vector reveals roughly what its text said, so it is deleted with the text.
      if (known !== undefined) writes.push({ op: "delete", key: known.key });
      continue;
    }
    const stored = known && toStoredVectors(known);
    if (stored?.model !== embedder.modelId || stored.revision !== note.revision) missing.push({ name, note, texts: textsToEmbed(content) });
  }
  const made = await embedAll(
    embedder,
    missing.flatMap(({ texts }) => texts),
    "stored",
    signal,
  );
  for (const { name, note, texts } of missing) {
    const some = made.splice(0, texts.length).flatMap((vector) => vector ?? []);
    if (some.length > 0) writes.push(vectorsWrite(name, embedder.modelId, note.revision, some));
  }
  if (writes.length > 0) await store.commit({ writes, writer: systemWriter });
  return writes.length > 0;
}

/** In the order of the texts; undefined if the model returns no usable vector or rejects just this text. */
async function embedAll(embedder: Embedder, texts: readonly string[], as: "stored" | "asked", signal: AbortSignal): Promise<(ShortVector | undefined)[]> {
  const vectors: (ShortVector | undefined)[] = [];
  for (let i = 0; i < texts.length; i += turn.texts) vectors.push(...(await embedSome(embedder, texts.slice(i, i + turn.texts), as, signal)));
  return vectors;
}

/** A text that the model refuses must not keep the others from their vectors: each is tried alone. Only a model that does not answer is an error. */
async function embedSome(embedder: Embedder, texts: readonly string[], as: "stored" | "asked", signal: AbortSignal): Promise<readonly (ShortVector | undefined)[]> {
  try {
    return (await embedder.embed(texts, as, signal)).map(toShortVector);
  } catch (error) {
    if (!isRefusedText(error)) throw error;
    if (texts.length === 1) return [undefined];
    const alone: (ShortVector | undefined)[] = [];
    for (const text of texts) alone.push(...(await embedSome(embedder, [text], as, signal)));
    return alone;
  }
}

/** 19 in 20 of the unrelated questions are no closer to any note than the measured value. */
const chanceShare = 0.95;

async function measureChance(store: Store, embedder: Embedder, vectors: NoteVectors, clock: Clock, signal: AbortSignal): Promise<void> {
  const namespace = vectors.of(store.namespace);
  await namespace.refresh(store);
  const { table, measuredNotes } = namespace;
  if (table === undefined || table.size === 0 || (table.size < measuredNotes * growth && table.size > measuredNotes / growth)) return;
  const made = await embedAll(embedder, unrelatedQuestions.flat(), "asked", signal);
  const questions = unrelatedQuestions
    .map((wordings) => ({ isLatin: isLatin(wordings[0]), vectors: made.splice(0, wordings.length).flatMap((vector) => vector ?? []) }))
    .filter((question) => question.vectors.length > 0);
  if (questions.length === 0) return;
  const chanceOf = async (latin: boolean, wordings: number): Promise<number> => {
    const nearest: number[] = [];
    for (const question of questions.filter((each) => each.isLatin === latin)) {
      // Each comparison goes through all vectors, so other work gets a turn in between.
      await new Promise<void>((resolve) => clock.turn(resolve));
      signal.throwIfAborted();
      nearest.push(table.compare(question.vectors.slice(0, wordings)).nearest(1)[0]?.cosine ?? 0);
    }
    return nearest.sort((a, b) => a - b)[Math.floor(nearest.length * chanceShare)] ?? 1;
  };
  // By chance, a question in one wording gets closer to some note than the mean of several wordings does.
  const measure = async (isOne: boolean): Promise<Chance> => ({ ofOne: await chanceOf(isOne, 1), ofSeveral: await chanceOf(isOne, Number.POSITIVE_INFINITY) });
  const [latin, others] = [await measure(true), await measure(false)];
  await store.commit({ writes: [chanceWrite({ model: embedder.modelId, notes: table.size, latin, others })], writer: systemWriter });
}
