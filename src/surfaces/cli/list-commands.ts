import { readLeaseOverview } from "../../domain/leases/lease-overview.ts";
import { listNamespaces } from "../../domain/overview/list-namespaces.ts";
import { listWorkspaces } from "../../domain/overview/list-workspaces.ts";
import { listSessions } from "../../domain/sessions/list-sessions.ts";
import { openNamespaceStore } from "../../store/namespace-store.ts";
import { fromCursor, toCursor } from "../../tools/cursor.ts";
import { toSeconds, toSecondsOrNull } from "../../tools/fields.ts";
import type { Command } from "./command.ts";
import { listCommand } from "./list-command.ts";

const pageAfter = (list: string, cursor: string | undefined): string | undefined => (cursor === undefined ? undefined : fromCursor(list, cursor));
const cursorAt = (list: string, next: string | undefined): string | null => (next === undefined ? null : toCursor(list, next));

const sessionListCommand = listCommand({
  path: ["session", "list"],
  summary: "List the saved sessions",
  details: "Contexts are not shown; holdfast session restore prints one.",
  examples: ["holdfast session list", "holdfast session list --json"],
  async read({ base }, { limit, cursor }) {
    const { sessions, next } = await listSessions(base, { limit, after: pageAfter("sessions", cursor) });
    return {
      sessions: sessions.map(({ sessionId, version, savedAtMs, updatedAtMs, expiresAtMs, writer, agent }) => ({
        session_id: sessionId,
        version,
        saved_at: toSeconds(savedAtMs),
        updated_at: toSeconds(updatedAtMs),
        updated_by: agent ?? writer,
        expires_at: toSecondsOrNull(expiresAtMs),
      })),
      cursor: cursorAt("sessions", next),
    };
  },
});

const leaseListCommand = listCommand({
  path: ["lease", "list"],
  summary: "List the leases that are held now, and who waits for them",
  details: "A claimed run is a lease too: workflow/RUN_ID. Leases that have lapsed or were released are not listed.",
  examples: ["holdfast lease list", "holdfast lease list --long"],
  async read({ base }, { limit, cursor }) {
    const { leases, more } = await readLeaseOverview(base, limit, pageAfter("leases", cursor));
    return {
      leases: leases.map(({ resource, holder, token, heldSinceMs, expiresAtMs, waiters }) => ({
        resource_id: resource,
        holder,
        token,
        held_since_at: toSeconds(heldSinceMs),
        expires_at: toSeconds(expiresAtMs),
        waiting: waiters,
      })),
      cursor: cursorAt("leases", more ? leases.at(-1)?.resource : undefined),
    };
  },
});

const namespaceListCommand = listCommand({
  path: ["namespace", "list"],
  summary: "List the namespaces of the store, with how much each holds",
  details: "The current namespace is the one that --namespace or HOLDFAST_NAMESPACE selects.",
  examples: ["holdfast namespace list", "holdfast namespace list --json"],
  async read({ base, config, engine }, { limit, cursor }) {
    const reader = { namespaces: () => engine.namespaces(), storeOf: (namespace: string) => openNamespaceStore(engine, namespace, base.clock) };
    const { namespaces, next } = await listNamespaces(reader, { limit, after: pageAfter("namespaces", cursor) });
    return { namespaces: namespaces.map((each) => ({ ...each, current: each.namespace === config.namespace })), cursor: cursorAt("namespaces", next) };
  },
});

const workspaceListCommand = listCommand({
  path: ["workspace", "list"],
  summary: "List the workspaces that something was saved in, each with its newest journal entry",
  details: "Pass an id or a name with --workspace to read or write another workspace than the current folder's.",
  examples: ["holdfast workspace list", "holdfast workspace list --json"],
  async read({ base }, { limit, cursor }) {
    const { workspaces, next } = await listWorkspaces(base, { limit, after: pageAfter("workspaces", cursor) });
    return {
      workspaces: workspaces.map(({ id, name, lastEntry }) => ({
        workspace_id: id,
        name,
        last_entry_at: toSecondsOrNull(lastEntry?.createdAtMs),
        last_entry: lastEntry?.description ?? null,
        last_entry_id: lastEntry?.id ?? null,
      })),
      cursor: cursorAt("workspaces", next),
    };
  },
});

export const listCommands: readonly Command[] = [sessionListCommand, leaseListCommand, namespaceListCommand, workspaceListCommand];
