import { readTogether } from "../../store/read-together.ts";
import type { Scope } from "../../store/transact.ts";
import { listEntries } from "../journal/find-entries.ts";
import type { JournalEntry } from "../journal/journal-entry.ts";
import { listKnownWorkspaces } from "../workspace/known-workspaces.ts";

export interface WorkspaceOverview {
  readonly id: string;
  readonly name: string;
  /** The newest journal entry saved in this workspace; global entries do not count. */
  readonly lastEntry?: JournalEntry;
}

export interface WorkspacesQuery {
  readonly limit: number;
  /** The last id of the previous page. */
  readonly after?: string;
}

/** Workspaces with saved data, in id order, each with its newest journal entry. */
export const listWorkspaces = (
  scope: Pick<Scope, "store">,
  { limit, after }: WorkspacesQuery,
): Promise<{ readonly workspaces: readonly WorkspaceOverview[]; readonly next?: string }> =>
  readTogether(scope.store, async (store) => {
    const { workspaces: known, more } = await listKnownWorkspaces(store, limit, after);
    const workspaces: WorkspaceOverview[] = [];
    for (const { id, name } of known) {
      const { entries } = await listEntries({ store }, { workspace: { id, name, formerIds: [] }, from: "workspace", limit: 1 });
      workspaces.push({ id, name, ...(entries[0] === undefined ? {} : { lastEntry: entries[0] }) });
    }
    const last = workspaces.at(-1);
    return { workspaces, ...(more && last !== undefined ? { next: last.id } : {}) };
  });
