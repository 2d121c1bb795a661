import type { ShortVector } from "../../search/short-vector.ts";
import { packVectors, unpackVectors } from "../../search/short-vector.ts";
import type { Entry, Put } from "../../store/store.ts";
import { vectorKeys } from "../keyspace.ts";
import type { Note, NoteContent } from "../knowledge/note.ts";
import { number, object, storedAs, string, toStored } from "../stored-record.ts";

/** The vectors of one note. They are opaque to the store and useless without the model that made them. */
interface StoredVectors {
  readonly model: string;
  /** The revision of the note from which they were made. */
  readonly revision: number;
  readonly dimensions: number;
  readonly vectors: string;
}
export const toStoredVectors = storedAs(object<StoredVectors>({ model: string, revision: number, dimensions: number, vectors: string }));

/** The similarity that unrelated notes reach by chance, for a question in one wording and in several. */
export interface Chance {
  readonly ofOne: number;
  readonly ofSeveral: number;
}
const chance = object<Chance>({ ofOne: number, ofSeveral: number });

/** Chance similarity, measured when `notes` notes had vectors. Latin is measured separately, because a model places all texts of a script it does not know close together. */
export interface StoredChance {
  readonly model: string;
  readonly notes: number;
  readonly latin: Chance;
  readonly others: Chance;
}
export const toStoredChance = storedAs(object<StoredChance>({ model: string, notes: number, latin: chance, others: chance }));

/** True if the text has no letter of another script. */
export const isLatin = (text: string): boolean => /^[\p{Script=Latin}\P{L}]*$/u.test(text);

export const chanceWrite = (measured: StoredChance): Put => ({ op: "put", key: vectorKeys.chance, value: toStored(measured) });

export const vectorsWrite = (name: string, model: string, revision: number, vectors: readonly ShortVector[]): Put => ({
  op: "put",
  key: vectorKeys.note(name),
  value: toStored({ model, revision, dimensions: vectors[0]?.components.length ?? 0, vectors: packVectors(vectors) } satisfies StoredVectors),
});

export function readVectors(entry: Pick<Entry, "key" | "value">): StoredVectors & { readonly unpacked: readonly ShortVector[] | undefined } {
  const stored = toStoredVectors(entry);
  return { ...stored, unpacked: unpackVectors(stored.vectors, stored.dimensions) };
}

/** Models read only a few hundred words, and a note's subject is usually at its beginning. */
const textCharactersMax = 2_000;

/** The texts to embed: the content with its keywords, and the questions separately, because one vector for both would be close to neither. */
export function textsToEmbed({ content, keywords, questions = [] }: Pick<NoteContent | Note, "content" | "keywords" | "questions">): readonly string[] {
  const text = [content.slice(0, textCharactersMax).toWellFormed(), ...(keywords.length === 0 ? [] : [`(${keywords.join(", ")})`])].join("\n");
  return questions.length === 0 ? [text] : [text, questions.join("\n").slice(0, textCharactersMax).toWellFormed()];
}
