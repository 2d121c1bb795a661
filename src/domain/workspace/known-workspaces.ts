import { keyRange, rangeAfter } from "../../store/ranges.ts";
import type { Range, Snapshot, Store, Write } from "../../store/store.ts";
import { workspaceKeys } from "../keyspace.ts";
import { either, nothing, object, storedAs, string } from "../stored-record.ts";

export interface KnownWorkspace {
  readonly id: string;
  /** The folder's name, for display. */
  readonly name: string;
  /** How git identified the workspace; absent if git was not needed. */
  readonly foundBy?: FoundBy;
}

export interface FoundBy {
  readonly mainLine: string;
  /** Undefined: git could not determine it. */
  readonly rootCommit?: string;
}

const toNamed = storedAs(object<Pick<KnownWorkspace, "name">>({ name: string }));
/** `null`: git could not determine it. */
const toRoot = storedAs(either(string, nothing));

const namesakesMax = 20;

/** Finds workspaces with saved data by name (current or former) or by id. */
export async function findKnownWorkspaces(store: Store, nameOrId: string): Promise<readonly KnownWorkspace[]> {
  const { entries } = await store.read([keyRange(workspaceKeys.id(nameOrId)), workspaceKeys.named.range(nameOrId)], { limit: namesakesMax });
  const byId = entries.find((entry) => entry.key === workspaceKeys.id(nameOrId));
  if (byId !== undefined) return [{ id: nameOrId, name: toNamed(byId).name }];
  return entries.map((entry) => ({ id: workspaceKeys.idOf(entry.key), name: nameOrId }));
}

/** Workspaces with saved data, in id order. `after`: the last id of the previous page. */
export async function listKnownWorkspaces(store: Store, limit: number, after?: string): Promise<{ readonly workspaces: readonly KnownWorkspace[]; readonly more: boolean }> {
  const { entries, more } = await store.read(after === undefined ? workspaceKeys.ids : rangeAfter(workspaceKeys.ids, workspaceKeys.id(after)), { limit });
  return { workspaces: entries.map((entry) => ({ id: workspaceKeys.idOf(entry.key), name: toNamed(entry).name })), more };
}

/** The root commit of a main line, as stored by `rememberWorkspace`. */
export async function readKnownRoot(store: Store, mainLine: string): Promise<string | null | undefined> {
  const { entries } = await store.read(keyRange(workspaceKeys.root(mainLine)));
  return entries[0] && toRoot(entries[0]);
}

export const knownWorkspaceRanges = ({ id, foundBy }: KnownWorkspace): readonly Range[] => [
  keyRange(workspaceKeys.id(id)),
  ...(foundBy === undefined ? [] : [keyRange(workspaceKeys.root(foundBy.mainLine))]),
];

/** Writes to include in the first commit that uses the workspace, or that uses it under this name. */
export function rememberWorkspace(snapshot: Pick<Snapshot, "entries">, { id, name, foundBy }: KnownWorkspace): Write[] {
  const known = snapshot.entries.find((entry) => entry.key === workspaceKeys.id(id));
  return [...(foundBy === undefined ? [] : rememberRoot(snapshot, foundBy)), ...(known !== undefined && toNamed(known).name === name ? [] : namedWrites(id, name))];
}

const namedWrites = (id: string, name: string): Write[] => [
  { op: "put", key: workspaceKeys.id(id), value: { name } },
  { op: "put", key: workspaceKeys.named.key(name, id), value: null },
];

/** A failure of git is remembered for a day, so that not every process waits for it again. */
const failureKeptMs = 86_400_000;

function rememberRoot({ entries }: Pick<Snapshot, "entries">, { mainLine, rootCommit }: FoundBy): Write[] {
  const key = workspaceKeys.root(mainLine);
  const known = entries.find((entry) => entry.key === key);
  if (rootCommit === undefined) return known === undefined ? [{ op: "put", key, value: null, ttlMs: failureKeptMs }] : [];
  return known?.value === rootCommit ? [] : [{ op: "put", key, value: rootCommit }];
}
