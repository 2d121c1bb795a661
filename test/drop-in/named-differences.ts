import type { Difference } from "./compare-answers.ts";

/** A difference on purpose. `says` is the line of docs/moving-in.md that tells users about it. */
export interface NamedDifference {
  readonly says: string;
  readonly covers: (difference: Difference) => boolean;
}

const last = ({ path }: Difference): string => path.split(".").at(-1) as string;
const isOptionalParameter = ({ call, kind, ours }: Difference): boolean => call === "tools/list" && kind === "added" && ours === "optional";
/** Fields that only Holdfast's answers have. */
const addedFields =
  (...names: readonly string[]) =>
  (difference: Difference): boolean =>
    isOptionalParameter(difference) || (difference.kind === "added" && difference.call !== "tools/list" && names.includes(last(difference)));
const isRefused =
  (...calls: readonly string[]) =>
  ({ call, kind }: Difference): boolean =>
    kind === "refused" && calls.includes(call);
const isWording = ({ kind }: Difference): boolean => kind === "wording" || kind === "shown";

const agentCheckpoint: readonly NamedDifference[] = [
  { says: "The loser of a race gets `conflict`; the original answers `ok` to both.", covers: ({ arguments: { key } }) => key === "race" },
  {
    says: "Values are stored as JSON and come back without the original's white space.",
    covers: ({ call, path, theirs, ours }) => call === "get_state" && path === "value" && JSON.stringify(JSON.parse(theirs as string)) === ours,
  },
  { says: "LIKE patterns are case-sensitive.", covers: ({ call, path, arguments: { pattern } }) => call === "list_state" && path === "keys" && pattern === "cron:%" },
  { says: "Deleting a missing key returns `deleted: false`.", covers: ({ path, theirs, ours }) => path === "deleted" && theirs === true && ours === false },
  { says: "Versions continue after a delete.", covers: ({ call, kind, path, ours }) => call === "set_state" && kind === "changed" && path === "version" && (ours as number) > 1 },
  { says: '`NaN` is not JSON and returns `status: "error"`.', covers: ({ arguments: { value } }) => value === "NaN" },
  { says: "An empty key is an error.", covers: (each) => isRefused("force_set_state")(each) && each.arguments.key === "" },
  { says: "A negative version other than -1 is an error.", covers: (each) => isRefused("set_state")(each) && each.arguments.expected_version === -5 },
  { says: "An unknown tool is a protocol error.", covers: isRefused("nonsense") },
  { says: "The resources `checkpoint://docs/…` are `holdfast://guide/…` here.", covers: ({ call }) => call === "resources/list" },
  { says: "Messages are worded differently.", covers: ({ kind, path }) => kind === "changed" && path === "message" },
  {
    says: "There are more optional parameters (`limit`, `cursor`, `request_key`), and refusals carry `expected_version` and `actual_version`.",
    covers: addedFields("cursor", "expected_version", "actual_version"),
  },
];

const sidecar: readonly NamedDifference[] = [
  {
    says: "Claiming or acquiring again as the holder succeeds and extends the hold.",
    covers: ({ call, kind, arguments: given, theirs }) =>
      kind === "changed" &&
      ((call === "workflow_claim" && given.agent_id === "worker-1" && given.run_id === "$run") || (call === "lease_acquire" && given.holder_id === "a")) &&
      theirs !== true,
  },
  {
    says: "`reason` is a word (`held`, `not_found`). A refused claim names the holder, and a refused lease says when the hold ends.",
    covers: ({ call, kind, path }) => (call === "workflow_claim" || call === "lease_acquire") && kind === "changed" && ["reason", "agent_id", "expires_at"].includes(path),
  },
  {
    says: "A TTL of 0, a negative step and an unknown status are errors.",
    covers: ({ kind, path, arguments: { ttl_seconds, step, status } }) =>
      (kind === "refused" && (ttl_seconds === 0 || step === -1 || status === "sleeping")) || path === "step_outputs.-1",
  },
  { says: "A checkpoint of an unknown run is an error.", covers: (each) => isRefused("workflow_checkpoint")(each) && each.arguments.run_id === "wf-000000000000" },
  {
    says: "Deleting an expired key and releasing an expired lease return false.",
    covers: ({ call, path, ours }) => ((call === "state_delete" && path === "ok") || (call === "lease_release" && path === "released")) && ours === false,
  },
  {
    says: "`history_log` lists deletions and expiries too, and `total` counts every entry that matches.",
    covers: ({ call, kind, path }) => call === "history_log" && kind === "changed" && (path === "entries" || path === "total"),
  },
  {
    says: "`history_log` cuts values longer than 1,000 characters; `state_get` with `version` returns the whole.",
    covers: ({ call, path, theirs }) => call === "history_log" && (path === "entries.*.cut" || (path === "entries.*.new_value" && (theirs as string).length > 1_000)),
  },
  {
    says: "`sidecar_reset` requires `confirm`, the name of the namespace.",
    // Nothing was cleared, so the keys are still listed.
    covers: (each) =>
      isRefused("sidecar_reset")(each) || each.path === "sidecar_reset.confirm" || (each.call === "state_list" && each.kind === "changed" && (each.theirs as []).length === 0),
  },
  { says: "`sidecar_health` reports Holdfast's version.", covers: ({ call, path }) => call === "sidecar_health" && path === "version" },
  {
    says: "`run_id` of `workflow_claim` is optional: without it, the next free run is claimed.",
    covers: ({ path, ours }) => path === "workflow_claim.run_id" && ours === "optional",
  },
  {
    says: "There are more optional parameters, and answers carry more fields, such as `version`, `revision`, `token` and `cursor`.",
    covers: addedFields(
      ...["key", "version", "revision", "expires_at", "updated_at", "updated_by", "saved_at", "cursor", "reason", "kind", "op", "writer", "created", "priority"],
      ...["claim_expires_at", "token", "attempts", "last_step", "omitted", "holder", "namespace", "lease_count", "engine"],
    ),
  },
];

const coaGoldfish: readonly NamedDifference[] = [
  {
    says: "Ids have another format: `cp-` with the time and twelve digits.",
    covers: ({ path, ours }) => path === "data.checkpointId" && /^cp-\d{8}-\d{6}-[0-9a-f]{12}$/.test(String(ours)),
  },
  {
    says: "Without `sessionId`, one connection is one session; in the original, all of them are in `default`.",
    covers: ({ path, theirs }) => path === "data.sessionId" && theirs === "default",
  },
  { says: "`operation` is `save`, `restore`, `search` or `timeline`.", covers: ({ path, ours }) => path === "operation" && ["save", "restore"].includes(ours as string) },
  { says: "`meta` has `outputFormat` instead of `mode`, and no `lines`.", covers: ({ path }) => ["meta.mode", "meta.lines", "meta.outputFormat"].includes(path) },
  { says: "A list sent as one text and an unknown argument are kept, and `warning` says so.", covers: ({ kind, path }) => kind === "added" && path === "warning" },
  { says: "A save without a description is an error.", covers: (each) => isRefused("checkpoint")(each) && each.arguments.action === "save" },
  { says: "To-do lists, plans and other memories have no counterpart: the profile has only `checkpoint`.", covers: isRefused("todo") },
  { says: "Texts are worded differently and name the workspace.", covers: isWording },
  {
    says: "Answers carry more fields, among them `formattedOutput` in every format and the entries themselves.",
    covers: addedFields(
      "formattedOutput",
      "gitBranch",
      "gitCommit",
      "sessionHighlights",
      "droppedHighlights",
      "global",
      "expiresAt",
      "revision",
      "workspace",
      "checkpoints",
      "highlights",
      "globalSince",
      "open",
    ),
  },
];

const structured = ["type", "context", "decision", "alternatives", "impact", "evidence", "symbols", "next", "confidence", "unknowns"];
const goldfish7: readonly NamedDifference[] = [
  {
    says: "`type`, `context`, `decision`, `alternatives`, `impact`, `evidence`, `symbols`, `next`, `confidence` and `unknowns` become lines of `workContext`; `tools/list` does not name them.",
    covers: (each) => each.call === "tools/list" && each.kind === "missing" && structured.includes(last(each)),
  },
  {
    says: "A call without a description restores instead of failing.",
    covers: ({ call, kind, path, arguments: { description } }) => path === "checkpoint.description" || (call === "checkpoint" && kind === "accepted" && description === undefined),
  },
  { says: "A confidence outside 1 to 5 is kept unchanged.", covers: ({ kind, arguments: { confidence } }) => kind === "accepted" && confidence === 9 },
  {
    says: "There is no advice on the fields that a decision, an incident or a learning should have.",
    covers: ({ kind, theirs, arguments: { type } }) => kind === "lost" && type === "decision" && theirs === "decision",
  },
  { says: "`recall` and `brief` are not offered. `checkpoint` restores and searches; briefs have no counterpart.", covers: isRefused("recall", "brief") },
  { says: "Texts are worded differently and repeat the description.", covers: isWording },
  { says: "`checkpoint` has more optional parameters, those of COA Goldfish among them.", covers: isOptionalParameter },
];

const keptAsText = ["action_goal", "action_type", "key_evidence", "reasoning_trace", "template", "auto_code_context", "item_type", "code_links"];
const sage: readonly NamedDifference[] = [
  {
    says: "The profile has the five tools of Sage's MCP design; searching is `list_checkpoints` with `query`, and the others have no counterpart.",
    covers: ({ call, kind, path }) => call === "tools/list" && kind === "missing" && !path.includes("."),
  },
  { says: "`tools/list` calls `knowledge_id` `id`; both are accepted.", covers: ({ path }) => path === "save_knowledge.id" || path === "save_knowledge.knowledge_id" },
  {
    says: "`action_goal`, `action_type`, `key_evidence`, `reasoning_trace`, `template`, `auto_code_context`, `item_type` and `code_links` are accepted, and `tools/list` does not name them.",
    covers: (each) => each.call === "tools/list" && each.kind === "missing" && keptAsText.includes(last(each)),
  },
  {
    says: "Key evidence and the reasoning trace become contributions of type `synthesis`.",
    covers: ({ call, kind, ours, arguments: given }) => call === "load_checkpoint" && kind === "shown" && given.checkpoint_id === "none-is-needed" && ours === "synthesis",
  },
  { says: "`item_type` is kept at the end of the note.", covers: ({ ours, theirs }) => (theirs ?? ours) === "preference" },
  {
    says: "A word that the design does not list becomes a neutral one; it stays readable in the text, and `warning` names it.",
    covers: ({ kind, ours }) => kind === "shown" && (ours === "article" || ours === "disagrees"),
  },
  { says: "An unknown checkpoint and a confidence outside 0 to 1 are errors.", covers: isRefused("load_checkpoint", "save_checkpoint") },
  {
    says: "A checkpoint continues an earlier one only when `continues` says so.",
    covers: ({ call, kind, theirs }) => call === "save_checkpoint" && kind === "wording" && (theirs as string).includes("[→"),
  },
  {
    says: "Notes are recalled by their words alone; the original, run without its sentence model, misses some.",
    covers: ({ call, kind }) => call === "recall_knowledge" && kind === "shown",
  },
  {
    says: "Results are JSON, and saves return an id instead of repeating the thesis; the original answers in sentences. The texts of `load_checkpoint` and `recall_knowledge` are worded differently.",
    covers: ({ call, kind }) => kind === "wording" || (call === "save_checkpoint" && kind === "lost"),
  },
  {
    says: "There are more optional parameters, and `keywords` is one of them.",
    covers: (each) => isOptionalParameter(each) || (each.path === "save_knowledge.keywords" && each.ours === "optional"),
  },
];

/** By the original's name, as transcripts and docs/moving-in.md have it. */
export const namedDifferences: Readonly<Record<string, readonly NamedDifference[]>> = {
  "AgentCheckpoint 1.0.0": agentCheckpoint,
  "MCP State Sidecar 0.1.0": sidecar,
  "COA Goldfish, TypeScript server of August 2025": coaGoldfish,
  "Goldfish 7.2": goldfish7,
  "Sage 4.2.3": sage,
};
