import { isReservedNamespace } from "../../store/namespace-store.ts";
import { compareKeys } from "../../store/ranges.ts";
import type { Revision, Store } from "../../store/store.ts";
import { journalKeys, knowledgeKeys, stateKeys, workflowKeys } from "../keyspace.ts";

export interface NamespaceOverview {
  readonly namespace: string;
  readonly revision: Revision;
  readonly keys: number;
  readonly runs: number;
  readonly notes: number;
  readonly journal: number;
}

export interface NamespacesReader {
  readonly namespaces: () => Promise<readonly string[]>;
  readonly storeOf: (namespace: string) => Store;
}

export interface NamespacesQuery {
  readonly limit: number;
  /** The last name of the previous page. */
  readonly after?: string;
}

/** Namespaces that callers can use, in name order, with the number of entries in each. */
export async function listNamespaces(
  reader: NamespacesReader,
  { limit, after }: NamespacesQuery,
): Promise<{ readonly namespaces: readonly NamespaceOverview[]; readonly next?: string }> {
  const names = (await reader.namespaces())
    .filter((name) => !isReservedNamespace(name))
    .sort(compareKeys)
    .filter((name) => after === undefined || compareKeys(name, after) > 0);
  const namespaces: NamespaceOverview[] = [];
  // One at a time, so that a store with many namespaces stays responsive for other callers.
  for (const namespace of names.slice(0, limit)) {
    const store = reader.storeOf(namespace);
    const { revision } = await store.position();
    const [keys = 0, runs = 0, notes = 0, journal = 0] = await Promise.all(
      [stateKeys.all, workflowKeys.runs, knowledgeKeys.all, journalKeys.entries].map((range) => store.count(range)),
    );
    namespaces.push({ namespace, revision, keys, runs, notes, journal });
  }
  const last = namespaces.at(-1);
  return { namespaces, ...(names.length > limit && last !== undefined ? { next: last.namespace } : {}) };
}
