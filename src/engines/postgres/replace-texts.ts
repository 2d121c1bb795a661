import { revisionAt } from "../../ledger/log-position.ts";
import { restsFrom } from "../../store/engine-rules.ts";
import type { NewText } from "../../store/store.ts";
import type { NamespaceHandle } from "./commit-batch.ts";
import type { Statement, StatementResult } from "./pg-session.ts";
import { lockSpace } from "./reclaim.ts";
import { textArray } from "./sql-arrays.ts";
import { indexStatements, readAreas, readDocuments, toDocuments } from "./text-index.ts";
import type { Transaction } from "./transaction.ts";

/** Under the namespace's lock. What is findable stays so, by other terms: no entry is touched. */
export async function replaceTexts(tx: Transaction, namespaceHandle: NamespaceHandle, given: readonly NewText[]): Promise<number> {
  const { tables: t, clock, namespace, id } = namespaceHandle;
  const findable: Statement = {
    name: "findable",
    text: `SELECT k, place FROM ${t.kv} WHERE ns = $1 AND k = ANY($2::text[]) AND findable`,
    values: [id, textArray(given, ({ key }) => key)],
  };
  const [space, answer] = await lockSpace(tx, namespaceHandle, findable);
  clock.show(namespace, space);
  if (restsFrom(space.seal, "compact", space.nowMs)) return 0;
  const placeOf = new Map((answer as StatementResult).rows as unknown as [string, number][]);
  const added = given.flatMap(({ key, revision, index }) => {
    const there = placeOf.get(key);
    return there !== undefined && revisionAt(there) === revision ? [{ key, logPosition: there, index }] : [];
  });
  if (added.length === 0) return 0;
  const [documents, areas] = await tx.ask([
    readDocuments(
      t,
      id,
      added.map(({ key }) => key),
    ),
    readAreas(t, id),
  ]);
  await tx.commit(indexStatements(t, id, areas as StatementResult, toDocuments(documents as StatementResult), added));
  return added.length;
}
