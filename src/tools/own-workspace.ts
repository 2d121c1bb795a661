import type { Surroundings } from "../domain/workspace/workspace.ts";
import { locateWorkspace, noWorkspaceId } from "../domain/workspace/workspace.ts";
import type { ToolContext } from "./tool.ts";

/** By the folder that the caller had open. Finding it out reads a dozen files, which is too much for every lease. */
const found = new WeakMap<Surroundings, Map<string | undefined, Promise<string | undefined>>>();

/**
 * The id of the workspace the caller works in, for what it creates or takes; undefined where nobody knows. An id from before the first
 * commit stays in use as long as the connection: readers know a workspace by its former ids too.
 */
export async function ownWorkspaceId({ server: { surroundings }, store }: Pick<ToolContext, "server" | "store">): Promise<string | undefined> {
  if (surroundings === undefined) return undefined;
  const folder = await surroundings.openFolder?.();
  const known = found.get(surroundings) ?? new Map<string | undefined, Promise<string | undefined>>();
  found.set(surroundings, known);
  const id = known.get(folder) ?? locateWorkspace(store, surroundings).then((workspace) => (workspace.id === noWorkspaceId ? undefined : workspace.id));
  known.set(folder, id);
  // A failure is not remembered: the next call asks again. The workspace is beside the point of the call, so it does not fail for it.
  return id.catch(() => void known.delete(folder));
}
