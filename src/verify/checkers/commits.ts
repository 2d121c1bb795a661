import type { Json } from "../../kernel/json.ts";
import { canonicalJson } from "../../kernel/json.ts";
import type { LogRow, Revision } from "../../store/store.ts";
import { rowsByRevision } from "./rows-by-revision.ts";
import type { Violation } from "./violation.ts";
import { Violations } from "./violation.ts";

/** A commit as its client saw it. `value` is absent for a delete. */
export interface SentCommit {
  readonly client: string;
  readonly writes: readonly { readonly key: string; readonly value?: Json }[];
  /** The client's answer: the revision and each write's version (0: there was nothing to delete), or that nothing was changed. Absent: no answer. */
  readonly answer?: { readonly revision: Revision; readonly versions: readonly number[] } | "refused";
}

/**
 * G1 and G5, for commits with any content. Every acknowledged commit is complete in the log at its revision, as acknowledged.
 * Every other revision is one complete commit that was sent and never answered. A rejected commit is nowhere in the log.
 * `rows` is the whole log, oldest first.
 */
export function checkCommits(sent: readonly SentCommit[], rows: readonly LogRow[]): readonly Violation[] {
  const durable = new Violations("G1");
  const atomic = new Violations("G5");
  const found = rowsByRevision(rows.filter((row) => row.op !== "expire"));
  const explained = new Set<Revision>();
  const unanswered = new Map<string, SentCommit[]>();
  for (const commit of sent) {
    if (commit.answer === "refused") continue;
    if (commit.answer === undefined) {
      const ofClient = unanswered.get(commit.client) ?? [];
      unanswered.set(commit.client, ofClient);
      ofClient.push(commit);
      continue;
    }
    const { revision, versions } = commit.answer;
    const expected = commit.writes.flatMap(({ key, value }, i) => (value === undefined && versions[i] === 0 ? [] : [text(key, value, versions[i])]));
    if (expected.length === 0) continue;
    if (explained.has(revision)) durable.add("revision_given_twice", `${commit.client} received revision ${revision}, which another commit has.`);
    explained.add(revision);
    const there = found.get(revision)?.map(rowText) ?? [];
    if (there.length === 0) durable.add("acknowledged_commit_missing", `${commit.client} received revision ${revision}; nothing is stored there.`);
    else if (there.length < expected.length && there.every((row) => expected.includes(row)))
      atomic.add("commit_torn", `Only ${there.length} of ${commit.client}'s ${expected.length} writes at revision ${revision} are stored.`);
    else if (canonicalJson(there.toSorted()) !== canonicalJson(expected.toSorted()))
      durable.add("acknowledged_commit_differs", `Revision ${revision} is not what ${commit.client} received: ${brief(there)} instead of ${brief(expected)}.`);
  }
  for (const [revision, there] of found) {
    if (explained.has(revision)) continue;
    const client = there[0]?.writer ?? "";
    const candidates = unanswered.get(client) ?? [];
    const match = candidates.findIndex((commit) => explains(commit, there));
    if (match >= 0) candidates.splice(match, 1);
    else if (candidates.some((commit) => isPartOf(commit, there))) atomic.add("commit_torn", `Revision ${revision} is only a part of a commit that ${client} had sent.`);
    else
      durable.add("unsent_commit_found", `Revision ${revision} by ${client} matches no unanswered commit: it was rejected, done twice or never sent. ${brief(there.map(rowText))}`);
  }
  return [...durable.list(), ...atomic.list()];
}

/** All puts of the commit are present, and nothing that is not part of it. Deletes of absent keys leave no row. */
function explains(commit: SentCommit, rows: readonly LogRow[]): boolean {
  return isPartOf(commit, rows) && commit.writes.filter(({ value }) => value !== undefined).length === rows.filter((row) => row.op === "put").length;
}

function isPartOf(commit: SentCommit, rows: readonly LogRow[]): boolean {
  const writes = new Set(commit.writes.map(({ key, value }) => text(key, value, undefined)));
  return rows.every((row) => writes.has(text(row.key, row.op === "put" ? row.value : undefined, undefined)));
}

const text = (key: string, value: Json | undefined, version: number | undefined): string => canonicalJson([key, value === undefined ? ["deleted"] : [value], version ?? null]);
const rowText = (row: LogRow): string => text(row.key, row.op === "put" ? row.value : undefined, row.version);
const brief = (texts: readonly string[]): string => texts.join(" ").slice(0, 300);
