import type { LibraryMethodName } from "../../../src/surfaces/library/library-methods.ts";

/** Arguments with which each tool does its work when it is let: a call that should have been refused leaves a trace. */
const samples: Readonly<Record<string, (namespace: string) => Readonly<Record<string, unknown>>>> = {
  state_set: () => ({ key: "written", value: "written by the matrix" }),
  state_get: () => ({ key: "color" }),
  state_delete: () => ({ key: "color" }),
  state_list: () => ({ values: true }),
  state_commit: () => ({ writes: [{ key: "committed", value: 1 }] }),
  get_state: () => ({ key: "color" }),
  set_state: () => ({ key: "set", value: '"x"' }),
  force_set_state: () => ({ key: "forced", value: '"x"' }),
  list_state: () => ({}),
  delete_state: () => ({ key: "color" }),
  workflow_create: () => ({ name: "made by the matrix" }),
  workflow_discover: () => ({}),
  workflow_claim: () => ({ agent_id: "matrix" }),
  workflow_checkpoint: () => ({ run_id: "run-of-the-matrix", step: 1, output: "x", agent_id: "matrix" }),
  workflow_resume: () => ({ run_id: "run-of-the-matrix" }),
  workflow_status: () => ({ run_id: "run-of-the-matrix" }),
  workflow_list: () => ({}),
  workflow_finish: () => ({ run_id: "run-of-the-matrix", status: "cancelled" }),
  lease_acquire: () => ({ resource_id: "deploy", holder_id: "matrix", ttl_seconds: 3_600 }),
  lease_release: () => ({ resource_id: "held", holder_id: "holder" }),
  lease_renew: () => ({ resource_id: "held", holder_id: "holder", ttl_seconds: 7_200 }),
  session_save: () => ({ session_id: "saved", context: { by: "matrix" } }),
  effects: () => ({}),
  session_restore: () => ({ session_id: "session" }),
  history_log: () => ({ n: 50 }),
  checkpoint: () => ({ action: "save", description: "saved by the matrix", workspace: "matrix" }),
  save_checkpoint: () => ({ core_question: "is it shut?", thesis: "it is shut", confidence: 0.5 }),
  list_checkpoints: () => ({}),
  load_checkpoint: () => ({ checkpoint_id: "2" }),
  save_knowledge: () => ({ id: "noted", content: "noted by the matrix" }),
  recall_knowledge: () => ({ query: "canary" }),
  resume: () => ({ workspace: "matrix" }),
  sidecar_health: () => ({}),
  sidecar_reset: (namespace) => ({ confirm: namespace }),
};

export const sampledTools = Object.keys(samples);

export function sampleArguments(tool: string, namespace: string): Readonly<Record<string, unknown>> {
  return samples[tool]?.(namespace) ?? {};
}

/** The content hashes of the samples' blobs: "abc" and "hello". Callers that know a hash may see it. */
export const sampleHashes: readonly string[] = [
  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
];
const [blobHash = ""] = sampleHashes;

/** The same for the methods of the library. */
const librarySamples: Readonly<Record<LibraryMethodName, Readonly<Record<string, unknown>>>> = {
  "state.set": { key: "written", value: "written by the matrix" },
  "state.get": { key: "color" },
  "state.waitFor": { key: "color", versionAbove: 0, timeoutMs: 0 },
  "state.delete": { key: "color" },
  "state.list": {},
  "state.commit": { writes: [{ op: "set", key: "committed", value: 1 }] },
  "state.watch": { after: 0 },
  "blobs.putChunks": { chunks: ["aGVsbG8="] },
  "blobs.assemble": { bytes: 3, chunks: [blobHash], contents: ["YWJj"] },
  "blobs.find": { hash: blobHash },
  "blobs.readChunk": { hash: blobHash },
  "leases.acquire": { resource: "deploy", ttlMs: 3_600_000, agent: "matrix" },
  "leases.renew": { resource: "held", ttlMs: 7_200_000, agent: "holder" },
  "leases.release": { resource: "held", agent: "holder" },
  "leases.list": {},
  "effects.begin": { tool: "pay", args: { amount: 1 } },
  "effects.keepAlive": { attempt: { id: "fx-00000000000000000000", token: 1 } },
  "effects.finish": { attempt: { id: "fx-00000000000000000000", token: 1 }, outcome: { state: "done", answer: 1 } },
  "effects.resolve": { id: "fx-00000000000000000000", as: "done" },
  "effects.get": { id: "fx-00000000000000000000" },
  "effects.list": {},
  "workflows.create": { name: "made by the matrix" },
  "workflows.find": {},
  "workflows.get": { runId: "run-of-the-matrix" },
  "workflows.claim": { agent: "matrix" },
  "workflows.renew": { runId: "run-of-the-matrix", agent: "matrix" },
  "workflows.giveBack": { runId: "run-of-the-matrix", agent: "matrix" },
  "workflows.wake": { runId: "run-of-the-matrix" },
  "workflows.checkpoint": { runId: "run-of-the-matrix", step: 1, output: "x", agent: "matrix" },
  "workflows.resume": { runId: "run-of-the-matrix" },
  "workflows.finish": { runId: "run-of-the-matrix", status: "cancelled" },
  "sessions.save": { sessionId: "saved", context: { by: "matrix" } },
  "sessions.restore": { sessionId: "session" },
  "journal.save": { description: "saved by the matrix", workspace: "matrix" },
  "journal.get": { idOrPart: "cp" },
  "journal.list": { workspace: "matrix" },
  "journal.search": { query: "canary", workspace: "matrix" },
  "journal.highlights": { entry: { sessionId: "s", workspace: { id: "none" } } },
  "research.save": { coreQuestion: "is it shut?", thesis: "it is shut", confidence: 0.5 },
  "research.list": {},
  "research.load": { idOrPart: "2" },
  "knowledge.save": { id: "noted", content: "noted by the matrix" },
  "knowledge.get": { name: "note" },
  "knowledge.recall": { query: "canary" },
  resume: { workspace: "matrix" },
  history: {},
  health: {},
};

export const sampleLibraryArguments = (name: string): Readonly<Record<string, unknown>> => librarySamples[name as LibraryMethodName];
