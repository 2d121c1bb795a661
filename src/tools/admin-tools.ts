import * as z from "zod";
import { resetNamespace } from "../domain/admin/reset.ts";
import { leaseKeys, stateKeys, workflowKeys } from "../domain/keyspace.ts";
import { invalidInput, isHoldfastError } from "../kernel/errors.ts";
import { everything } from "../store/ranges.ts";
import { transact } from "../store/transact.ts";
import type { ToolContext } from "./tool.ts";
import { defineTool } from "./tool.ts";
import { visibleFacts } from "./visible-facts.ts";
import { visiblePath } from "./visible-path.ts";

const count = z.int().nullable();

export const sidecarHealth = defineTool({
  name: "sidecar_health",
  title: "Show health",
  description: "Whether the store answers (status ok or error), how much is in it, what an acknowledged write survives.",
  toolset: "admin",
  effect: "read",
  input: z.strictObject({}),
  output: z.strictObject({
    status: z.string(),
    backend: z.string(),
    namespace: z.string(),
    uptime_s: z.number(),
    version: z.string(),
    key_count: count,
    workflow_count: count,
    lease_count: count,
    revision: count,
    engine: z.custom<Record<string, unknown>>((value) => typeof value === "object").meta({ type: "object" }),
  }),
  positional: [],
  cli: { command: ["health"] },
  async handle(context, _args) {
    const { server, store, clock } = context;
    const known = { backend: server.engineName, namespace: store.namespace, uptime_s: Math.max(0, clock.nowMs() - server.startedAtMs) / 1000, version: server.version };
    try {
      return { status: "ok", ...known, ...(await storeFacts(context)) };
    } catch (error) {
      // A health check must return a result even if the store fails: that is how callers find out.
      const reason = isHoldfastError(error) ? `${error.code}: ${error.message}` : "unexpected store error; see the server's log";
      return { status: `error: ${reason}`, ...known, key_count: null, workflow_count: null, lease_count: null, revision: null, engine: {} };
    }
  },
});

async function storeFacts({ store, server }: ToolContext) {
  const [keys, runs, leases, { revision }, health] = await Promise.all([
    store.count(stateKeys.all),
    store.count(workflowKeys.runs),
    store.count(leaseKeys.deadlines),
    store.position(),
    server.health(store.namespace),
  ]);
  const { engine: name, durability, facts, warnings } = health;
  return {
    key_count: keys,
    workflow_count: runs,
    lease_count: leases,
    revision,
    engine: { name, durability, warnings: warnings.map(({ says }) => says), ...visibleFacts(server, facts) },
  };
}

export const sidecarReset = defineTool({
  name: "sidecar_reset",
  title: "Clear the namespace",
  description: "Delete everything in this namespace; confirm must equal its name. A SQLite store is backed up first.",
  pointers: [{ to: ["sidecar_health"], text: "sidecar_health shows the name." }],
  toolset: "admin",
  effect: "destructive",
  input: z.strictObject({
    confirm: z.custom<string>((value) => typeof value === "string", "required; must be the namespace's name, which sidecar_health shows").meta({ type: "string" }),
  }),
  output: z.strictObject({ ok: z.boolean(), cleared: z.int(), backup: z.string().nullable() }),
  positional: ["confirm"],
  cli: { command: ["reset"] },
  handle(context, { confirm }) {
    if (confirm !== context.store.namespace) throw invalidInput("confirm", "must equal the namespace's name, which sidecar_health shows; nothing was cleared");
    // Stored as an answer rather than as writes: clearing takes many commits, and a retry with the same request key must get the first answer.
    return transact<null, { ok: boolean; cleared: number; backup: string | null }>(context, {
      async decide() {
        const { server, store } = context;
        const isEmpty = (await store.count(everything)) === 0;
        const backup = isEmpty ? undefined : await server.backUp?.(store.namespace);
        const { cleared } = await resetNamespace(context, backup?.revision);
        return { answer: { ok: true, cleared, backup: visiblePath(server, backup?.path ?? null) } };
      },
      finish: () => ({ ok: true, cleared: 0, backup: null }),
    });
  },
});

export const adminTools = [sidecarHealth, sidecarReset];
