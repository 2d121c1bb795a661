import * as z from "zod";
import { workflowKeys } from "../domain/keyspace.ts";
import { acquireLease } from "../domain/leases/leases.ts";
import { releaseHold, renewHold } from "../domain/workflows/holds.ts";
import { key, label, timeOrNull, token, toMs, toSeconds, toSecondsOrNull, toTtlMs, ttlSeconds, waitSeconds } from "./fields.ts";
import { ownWorkspaceId } from "./own-workspace.ts";
import { defineTool } from "./tool.ts";

export const leaseAcquire = defineTool({
  name: "lease_acquire",
  title: "Acquire a lease",
  description:
    "Take exclusive hold of a name; the holder calling again extends it. Returns a fencing token: pass it as lease with writes, so that a stale holder cannot write. Held by another: acquired:false with holder and expires_at; wait_seconds queues for it.",
  toolset: "lease",
  effect: "write-idempotent",
  input: z.strictObject({ resource_id: key, holder_id: label, ttl_seconds: ttlSeconds, wait_seconds: waitSeconds.optional() }),
  output: z.strictObject({
    acquired: z.boolean(),
    resource_id: z.string(),
    holder: z.string().nullable(),
    token: z.int().nullable(),
    expires_at: timeOrNull,
    reason: z.enum(["held", "others_waiting"]).nullable(),
    queue_position: z.int().optional(),
  }),
  positional: ["resource_id"],
  async handle(context, args) {
    const result = await acquireLease(context, {
      resource: args.resource_id,
      holder: args.holder_id,
      ttlMs: toTtlMs(args.ttl_seconds),
      workspace: await ownWorkspaceId(context),
      waitMs: args.wait_seconds === undefined ? 0 : toMs(args.wait_seconds),
    });
    if (result.ok) return { acquired: true, resource_id: result.resource, holder: result.holder, token: result.token, expires_at: toSeconds(result.expiresAtMs), reason: null };
    return {
      acquired: false,
      resource_id: result.resource,
      holder: result.heldBy ?? null,
      token: null,
      expires_at: toSecondsOrNull(result.expiresAtMs),
      reason: result.heldBy === undefined ? "others_waiting" : "held",
      ...(result.queuePosition === undefined ? {} : { queue_position: result.queuePosition }),
    };
  },
});

export const leaseRelease = defineTool({
  name: "lease_release",
  title: "Release a lease",
  description: "Give up a lease you hold. released:false: it lapsed, another holds it, or the token is not current.",
  toolset: "lease",
  effect: "write-idempotent",
  input: z.strictObject({ resource_id: key, holder_id: label, token: token.optional() }),
  output: z.strictObject({ released: z.boolean(), resource_id: z.string() }),
  positional: ["resource_id"],
  async handle(context, args) {
    const { released } = await releaseHold(context, { resource: args.resource_id, holder: args.holder_id, token: args.token });
    const runId = workflowKeys.runOfResource(args.resource_id);
    if (released && runId !== undefined) context.server.claims?.forget(context, runId);
    return { released, resource_id: args.resource_id };
  },
});

export const leaseRenew = defineTool({
  name: "lease_renew",
  title: "Renew a lease",
  description: "Keep your lease for ttl_seconds from now; the token stays. renewed:false: it lapsed or is another's; stop the protected work.",
  toolset: "lease",
  effect: "write-idempotent",
  input: z.strictObject({ resource_id: key, holder_id: label, ttl_seconds: ttlSeconds, token: token.optional() }),
  output: z.strictObject({ renewed: z.boolean(), resource_id: z.string(), expires_at: timeOrNull, token: z.int().nullable(), holder: z.string().nullable() }),
  positional: ["resource_id"],
  async handle(context, args) {
    const result = await renewHold(context, { resource: args.resource_id, holder: args.holder_id, ttlMs: toTtlMs(args.ttl_seconds), token: args.token });
    if (!result.ok) return { renewed: false, resource_id: args.resource_id, expires_at: null, token: null, holder: result.heldBy ?? null };
    return { renewed: true, resource_id: args.resource_id, expires_at: toSeconds(result.expiresAtMs), token: result.token, holder: args.holder_id };
  },
});

export const leaseTools = [leaseAcquire, leaseRelease, leaseRenew];
