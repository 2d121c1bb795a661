import type { KnownWorkspace } from "../domain/workspace/known-workspaces.ts";
import type { Surroundings } from "../domain/workspace/workspace.ts";
import { locateWorkspace, noWorkspaceId } from "../domain/workspace/workspace.ts";
import type { Store } from "../store/store.ts";
import type { Reading } from "./originals/reading.ts";

/** How Goldfish derives a workspace's name from a folder's name. */
const nameThere = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, "-");

export interface PlacedWorkspaces {
  of(name: string): Promise<KnownWorkspace>;
  /** Names for which no folder was found. */
  readonly byNameOnly: ReadonlySet<string>;
}

/**
 * Goldfish identifies workspaces by name, Holdfast by repository. A name is matched to the repository with that name among the given folders
 * and the current one; any other becomes a workspace with that name. Files in a project's own folder belong to that project.
 */
export async function placeWorkspaces(store: Store, surroundings: Surroundings | undefined, folders: readonly string[], project?: Reading["project"]): Promise<PlacedWorkspaces> {
  const here = surroundings === undefined ? [] : [await locateWorkspace(store, surroundings)];
  const given = await Promise.all(folders.map((folder) => locateWorkspace(store, surroundings, folder)));
  const placed = new Map<string, KnownWorkspace>();
  if (project !== undefined && surroundings !== undefined) {
    const { id, name } = await locateWorkspace(store, surroundings, project.folder);
    placed.set(nameThere(project.workspaceName), { id, name });
  }
  for (const { id, name } of [...given, ...here]) if (id !== noWorkspaceId && !placed.has(nameThere(name))) placed.set(nameThere(name), { id, name });
  const byNameOnly = new Set<string>();
  return {
    byNameOnly,
    async of(name) {
      const known = placed.get(nameThere(name));
      if (known !== undefined) return known;
      const { id, name: kept } = await locateWorkspace(store, undefined, name);
      placed.set(nameThere(name), { id, name: kept });
      byNameOnly.add(name);
      return { id, name: kept };
    },
  };
}
