import type { Scope } from "../../store/transact.ts";
import { knowledgeKeys, vectorKeys } from "../keyspace.ts";

/** Counts all notes, including withdrawn ones, and those with vectors of any model. */
export async function countVectors({ store }: Pick<Scope, "store">): Promise<{ readonly notes: number; readonly vectors: number }> {
  const [notes, vectors] = await Promise.all([store.count(knowledgeKeys.all), store.count(vectorKeys.notes)]);
  return { notes, vectors };
}
