import type { Teller } from "../teller.ts";

/** Leases taken, renewed, lost, waited for and used as guards. */
export async function leaseScene({ call, begin, clock }: Teller): Promise<void> {
  const ann = { resource_id: "deploy", holder_id: "ann" };
  const bob = { resource_id: "deploy", holder_id: "bob" };
  const { token } = await call("lease_acquire", { ...ann, ttl_seconds: 30 });
  await call("lease_acquire", { ...ann, ttl_seconds: 20 });
  await call("lease_acquire", { ...bob, ttl_seconds: 30 });
  await call("lease_renew", { ...bob, ttl_seconds: 30 });
  await call("lease_renew", { ...ann, ttl_seconds: 10, token });
  await call("state_set", { key: "guarded", value: 1, lease: { resource_id: "deploy", token } });
  await call("state_commit", { writes: [{ key: "guarded", value: 2 }], leases: [{ resource_id: "deploy", token }], agent_id: "ann" });

  // In line: the time runs out once, and once the lease comes free.
  const tired = await begin("lease_acquire", { ...bob, ttl_seconds: 5, wait_seconds: 1 });
  clock.advance(1_000);
  await tired.ended();
  const patient = await begin("lease_acquire", { ...bob, ttl_seconds: 5, wait_seconds: 30 });
  await call("lease_acquire", { resource_id: "deploy", holder_id: "eve", ttl_seconds: 5 });
  await call("lease_release", { ...ann, token: token + 1 });
  await call("lease_release", { ...ann, token });
  const taken = await patient.ended();
  await call("state_set", { key: "guarded", value: 3, lease: { resource_id: "deploy", token } });
  await call("state_delete", { key: "guarded", lease: { resource_id: "deploy", token: taken.token } });
  clock.advance(5_000);
  await call("lease_renew", { ...bob, ttl_seconds: 30 });
  await call("lease_release", bob);
  await call("state_set", { key: "guarded", value: 4, lease: { resource_id: "deploy", token: taken.token } });
  await call("lease_acquire", { ...ann, ttl_seconds: 600 });
  await call("history_log", { key: "deploy", kind: "lease", n: 50 });
}

/** Runs created, found, claimed, worked on, taken over, given back and ended. */
export async function workflowScene({ call, clock }: Teller): Promise<void> {
  await call("workflow_create", { name: "release", run_id: "run-1", tags: { project: "demo", kind: "build" }, input: { branch: "main" } });
  await call("workflow_create", { name: "another name", run_id: "run-1" });
  await call("workflow_create", { name: "urgent", run_id: "run-2", tags: { project: "demo" }, priority: 7 });
  const { run_id: named } = await call("workflow_create", { name: "named by chance", tags: { kind: "build" } });
  for (const run_id of ["run-3", "run-4", "run-5"]) await call("workflow_create", { name: "batch", run_id, tags: { batch: "b", "odd:tag/ä": "%" }, priority: -1 });
  await call("workflow_discover", { tags: { project: "demo" } });
  await call("workflow_discover", { tags: { "odd:tag/ä": "%" }, claimable: true });
  await call("workflow_claim", { run_id: "run-1", agent_id: "ann", ttl_seconds: 60 });
  await call("workflow_claim", { run_id: "run-1", agent_id: "bob" });
  await call("workflow_claim", { run_id: "run-1", agent_id: "ann", ttl_seconds: 60 });
  for (const step of [1, 2, 3]) await call("workflow_checkpoint", { run_id: "run-1", step, output: { did: step }, agent_id: "ann" });
  await call("workflow_checkpoint", { run_id: "run-1", step: 3, output: { did: 3 }, agent_id: "ann" });
  await call("workflow_checkpoint", { run_id: "run-1", step: 2, output: "better", agent_id: "ann" });
  await call("workflow_checkpoint", { run_id: "run-1", step: 4, output: 4, agent_id: "bob" });
  await call("workflow_status", { run_id: "run-1" });
  await call("workflow_discover", { status: "running" });
  // The next one, by priority; then a holder who is replaced.
  const next = await call("workflow_claim", { agent_id: "bob", ttl_seconds: 10 });
  await call("workflow_claim", { agent_id: "eve", tags: { kind: "build" } });
  clock.advance(10_000);
  await call("workflow_discover", { claimable: true });
  await call("workflow_claim", { run_id: next.run_id, agent_id: "eve", ttl_seconds: 300 });
  await call("workflow_checkpoint", { run_id: next.run_id, step: 1, output: "late", agent_id: "bob", token: next.token });
  await call("lease_release", { resource_id: `workflow/${next.run_id}`, holder_id: "eve" });
  await call("workflow_checkpoint", { run_id: next.run_id, step: 1, output: "by nobody in particular" });
  await call("workflow_resume", { run_id: "run-1" });
  await call("workflow_resume", { run_id: "run-1", steps_after: 1, limit: 1 });
  await call("workflow_finish", { run_id: "run-1", status: "done", result: { published: true }, agent_id: "ann" });
  await call("workflow_checkpoint", { run_id: "run-1", step: 9, output: "after the end" });
  await call("workflow_claim", { run_id: "run-1", agent_id: "ann" });
  await call("workflow_finish", { run_id: named, status: "failed", error: "no disk", retry: true, agent_id: "eve" });
  await call("workflow_finish", { run_id: "run-3", status: "cancelled" });
  await call("workflow_status", { run_id: named });
  await call("workflow_status", { run_id: "run-of-nobody" });
  const page = await call("workflow_list", { limit: 2 });
  await call("workflow_list", { limit: 2, cursor: page.cursor });
  await call("workflow_discover", { status: "created", limit: 1 });
  await call("history_log", { kind: "workflow", n: 100 });
}

/** Contexts of sessions, with their past. */
export async function sessionScene({ call, clock }: Teller): Promise<void> {
  const session_id = "agent/7";
  await call("session_save", { session_id, context: { turn: 1, notes: ["a", "ü"] } });
  await call("session_save", { session_id, context: { turn: 2 }, expected_version: 1, ttl_seconds: 5 });
  await call("session_save", { session_id, context: { turn: 3 }, expected_version: 1 });
  await call("session_restore", { session_id });
  await call("session_restore", { session_id, version: 1 });
  clock.advance(5_000);
  await call("session_restore", { session_id });
  await call("session_save", { session_id, context: {} });
  await call("session_restore", { session_id: "unknown" });
}
