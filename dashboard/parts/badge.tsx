import type { EffectStateName, Kind, RoleName, RunStatusName } from "../../src/surfaces/dashboard/api.ts";

const runTones: Record<RunStatusName, string> = { created: "wait", claimed: "live", running: "live", done: "good", failed: "bad", cancelled: "off" };
const runWords: Record<RunStatusName, string> = { created: "waiting", claimed: "claimed", running: "running", done: "done", failed: "failed", cancelled: "cancelled" };

export function RunStatusBadge({ status }: { readonly status: RunStatusName }) {
  return <span class={`badge ${runTones[status] ?? "off"}`}>{runWords[status] ?? status}</span>;
}

export const statusTone = (status: RunStatusName): string => runTones[status] ?? "off";

const stateTones: Record<EffectStateName, string> = { unknown: "bad", intended: "live", done: "good", failed: "off" };
const stateWords: Record<EffectStateName, string> = { unknown: "unknown", intended: "in flight", done: "done", failed: "failed" };

export function EffectStateBadge({ state }: { readonly state: EffectStateName }) {
  return <span class={`badge ${stateTones[state] ?? "off"}`}>{stateWords[state] ?? state}</span>;
}

const noteTones: Readonly<Record<string, string>> = { active: "good", deprecated: "wait", archived: "off", quarantined: "bad" };
export function NoteStatusBadge({ status }: { readonly status: string }) {
  return <span class={`badge ${noteTones[status] ?? "off"}`}>{status}</span>;
}

const effectTones: Readonly<Record<string, string>> = { read: "off", write: "live", "write-idempotent": "live", destructive: "bad" };
export function EffectBadge({ effect }: { readonly effect: string }) {
  return <span class={`badge ${effectTones[effect] ?? "off"}`}>{effect === "write-idempotent" ? "write" : effect}</span>;
}

export const kindWords: Record<Kind, string> = {
  state: "key",
  lease: "lease",
  workflow: "run",
  effect: "effect",
  session: "session",
  checkpoint: "journal",
  knowledge: "note",
  other: "other",
};
export function KindTag({ kind }: { readonly kind: Kind }) {
  return <span class={`kind kind-${kind}`}>{kindWords[kind] ?? kind}</span>;
}

export function RoleBadge({ role }: { readonly role: RoleName }) {
  return <span class="badge role">{role}</span>;
}
