import { isNegative } from "./render-result.ts";
import type { TextStyle } from "./terminal-text.ts";
import { formatTime, safeText, shorten } from "./terminal-text.ts";

type Result = Readonly<Record<string, unknown>>;

/** The outcome of a write in one sentence, for success and for refusal. `--json` has every field. */
interface Sentences {
  done(result: Result, style: TextStyle): string;
  refused?(result: Result, style: TextStyle): string;
}

const name = (value: unknown): string => safeText(JSON.stringify(value));

const until = (style: TextStyle, expiresAt: unknown, before = ", expires "): string => (typeof expiresAt === "number" ? `${before}${formatTime(expiresAt, style)}` : "");

/** `"a" is at version 1, expected 0 (create only)`, and the current value. */
function conflict(subject: unknown, { expected_version: expected, actual_version: actual, current }: Result, style: TextStyle): string {
  const is = actual === 0 ? "does not exist" : `is at version ${actual}`;
  const wanted = expected === undefined ? "" : `, expected ${expected === 0 ? "0 (create only)" : expected}`;
  const { value, updated_by: by, updated_at: at } = (current ?? {}) as Result;
  const there =
    value === undefined
      ? ""
      : ` The current value is ${shorten(safeText(JSON.stringify(value)))}${typeof by === "string" ? `, written by ${safeText(by)}` : ""}${typeof at === "number" ? ` ${formatTime(at, { ...style, shortTimes: true })}` : ""}.`;
  return `conflict: ${name(subject)} ${is}${wanted}; nothing was written.${there}`;
}

const setKey: Sentences = {
  done: ({ key, version, expires_at: expiresAt }, style) => `${name(key)} is now version ${version}${until(style, expiresAt)}.`,
  refused: (result, style) =>
    result.status === "error" || result.status === "not_found" ? safeText(String(result.message ?? result.status)) : conflict(result.key, result, style),
};

/** The engine's other facts are for programs (`--json`) and for `holdfast doctor`. */
function health({ status, backend, namespace, revision, key_count: keys, workflow_count: runs, lease_count: leases, engine }: Result): string {
  if (status !== "ok") return `The store does not work: ${safeText(String(status).replace(/^error: /, ""))}`;
  const { durability, file, warnings } = engine as Result;
  const count = (number: unknown, one: string): string => `${number} ${one}${number === 1 ? "" : "s"}`;
  return [
    `The store works: ${safeText(String(backend))}${typeof file === "string" ? ` (${safeText(file)})` : ""}.`,
    `Namespace ${name(namespace)}, revision ${revision}: ${count(keys, "key")}, ${count(runs, "run")}, ${count(leases, "lease")} held.`,
    `Durability: ${safeText(String(durability))}.`,
    ...((warnings ?? []) as readonly unknown[]).map((warning) => `Warning: ${safeText(typeof warning === "string" ? warning : Object.values(warning as object).join(": "))}`),
    "holdfast doctor checks more; --json prints every figure.",
  ].join("\n");
}

const deleteKey: Sentences = {
  done: ({ key }) => `${name(key)} was deleted.`,
  refused: (result, style) =>
    result.reason === "conflict" || result.status === "conflict" ? conflict(result.key, result, style) : `${name(result.key)} is not set; nothing was deleted.`,
};

const bySentence: Readonly<Record<string, Sentences>> = {
  state_set: setKey,
  set_state: setKey,
  force_set_state: setKey,
  state_delete: deleteKey,
  delete_state: deleteKey,
  session_save: {
    done: ({ session_id: id, version, expires_at: expiresAt }, style) => `Session ${name(id)} is now version ${version}${until(style, expiresAt)}.`,
    refused: (result, style) => conflict(result.session_id, result, style),
  },
  lease_acquire: {
    done: ({ resource_id: resource, holder, token, expires_at: expiresAt }, style) =>
      `${safeText(String(holder))} holds ${name(resource)} with token ${token}${until(style, expiresAt, " until ")}.`,
    refused: ({ resource_id: resource, holder, expires_at: expiresAt, reason, queue_position: position }, style) =>
      `${name(resource)} was not acquired: ${reason === "others_waiting" ? "others are waiting in line for it" : `${safeText(String(holder))} holds it${until(style, expiresAt, " until ")}`}${position === undefined ? "" : `; place ${position} in line`}.`,
  },
  lease_renew: {
    done: ({ resource_id: resource, token, expires_at: expiresAt }, style) => `${name(resource)} is held with token ${token}${until(style, expiresAt, " until ")}.`,
    refused: ({ resource_id: resource, holder }) =>
      `${name(resource)} was not renewed: ${holder === null || holder === undefined ? "the lease has lapsed" : `${safeText(String(holder))} holds it`}. Stop the work that it protects.`,
  },
  lease_release: {
    done: ({ resource_id: resource }) => `${name(resource)} was released.`,
    refused: ({ resource_id: resource }) => `${name(resource)} was not released: you do not hold it.`,
  },
  workflow_create: {
    done: ({ run_id: id, name: called, created, status }) =>
      created === true ? `Run ${safeText(String(id))} was created as ${name(called)}.` : `Run ${safeText(String(id))} exists already (${status}); nothing was created.`,
  },
  workflow_claim: {
    done: ({ run_id: id, agent_id: agent, token, expires_at: expiresAt }, style) =>
      `${safeText(String(agent))} has run ${safeText(String(id))} with token ${token}${until(style, expiresAt, " until ")}.`,
    refused: ({ run_id: id, agent_id: agent, expires_at: expiresAt, reason }, style) => {
      if (reason === "nothing_claimable") return "No run can be claimed now.";
      if (reason !== "held") return `Run ${safeText(String(id))} was not claimed: ${safeText(String(reason))}.`;
      return `Run ${safeText(String(id))} was not claimed: ${agent === null ? "another agent" : safeText(String(agent))} has it${until(style, expiresAt, " until ")}.`;
    },
  },
  sidecar_health: { done: health },
  workflow_checkpoint: { done: ({ run_id: id, step, last_step: last }) => `Step ${step} of run ${safeText(String(id))} is stored; its last step is ${last}.` },
  workflow_finish: { done: ({ run_id: id, status }) => `Run ${safeText(String(id))} ended as ${status}.` },
};

export interface Sentence {
  readonly text: string;
  readonly isRefusal: boolean;
}

/** Undefined if one sentence is not enough for the result. */
export function resultSentence(tool: string, result: Result, style: TextStyle): Sentence | undefined {
  const sentences = bySentence[tool];
  if (sentences === undefined) return undefined;
  const isRefusal = isNegative(result);
  const say = isRefusal ? sentences.refused : sentences.done;
  return say === undefined ? undefined : { text: say(result, style), isRefusal };
}
