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
