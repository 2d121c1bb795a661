import type { Surroundings } from "../domain/workspace/workspace.ts";
import { locateWorkspace, noWorkspaceId } from "../domain/workspace/workspace.ts";
import type { ToolContext } from "./tool.ts";

/** Cached by the caller's open folder. Locating a workspace reads a dozen files, which is too much for every lease. */
const found = new WeakMap<Surroundings, Map<string | undefined, Promise<string | undefined>>>();

/**
 * The id of the caller's workspace, for things it creates or acquires; undefined if unknown. An id from before the first commit
 * stays in use until the connection ends, because readers also check a workspace's former ids.
 */
export async function ownWorkspaceId({ server: { surroundings }, store }: Pick<ToolContext, "server" | "store">): Promise<string | undefined> {
  if (surroundings === undefined) return undefined;
  const folder = await surroundings.openFolder?.();
  const known = found.get(surroundings) ?? new Map<string | undefined, Promise<string | undefined>>();
  found.set(surroundings, known);
  const id = known.get(folder) ?? locateWorkspace(store, surroundings).then((workspace) => (workspace.id === noWorkspaceId ? undefined : workspace.id));
  known.set(folder, id);
  // Failures are not cached, so the next call tries again. The call itself does not need the workspace, so it does not fail either.
  return id.catch(() => void known.delete(folder));
}
