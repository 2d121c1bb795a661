import type { LogRow, NamespaceFacts, Revision } from "../../../src/store/store.ts";
import type { SentCommit } from "../../../src/verify/checkers/commits.ts";
import type { Violation } from "../../../src/verify/checkers/violation.ts";
import { Violations } from "../../../src/verify/checkers/violation.ts";
import type { WatchLife } from "../../../src/verify/checkers/watch.ts";
import { checkWatch } from "../../../src/verify/checkers/watch.ts";
import type { Grant, RecordedLife } from "./load-journal.ts";

type Gaps = NamespaceFacts["gaps"];

/** The namespace itself says that what had this revision is gone. */
export const isLost = (revision: Revision, gaps: Gaps): boolean => gaps.some(([kept, base]) => revision > kept && revision < base);

/** G4, where acknowledged commits may be lost: no revision and no version of a key is ever told to two, not even when the first of them is gone. */
export function checkNeverGivenAgain(commits: readonly SentCommit[]): readonly Violation[] {
  const violations = new Violations("G4");
  const revisions = new Map<Revision, string>();
  const versions = new Map<string, string>();
  for (const { client, writes, answer } of commits) {
    if (answer === undefined || answer === "refused") continue;
    const changing = writes.flatMap(({ key, value }, i) => (value === undefined ? [] : [{ key, version: answer.versions[i] }]));
    if (changing.length === 0) continue;
    const owner = revisions.get(answer.revision);
    if (owner !== undefined) violations.add("revision_given_again", `${owner} and ${client} were both told revision ${answer.revision}.`);
    revisions.set(answer.revision, client);
    for (const { key, version } of changing) {
      const name = `${key} ${version}`;
      const writer = versions.get(name);
      if (writer !== undefined) violations.add("version_given_again", `${writer} and ${client} were both told version ${version} of ${key}.`);
      versions.set(name, client);
    }
  }
  return violations.list();
}

/** G7, likewise: a token is granted once, and one that a client asked for later is above those it had been granted before. Each client asks for one at a time. */
export function checkTokens(grants: readonly Grant[]): readonly Violation[] {
  const violations = new Violations("G7");
  const owners = new Map<Revision, string>();
  const newest = new Map<string, Revision>();
  for (const { client, resource, token } of grants) {
    const owner = owners.get(token);
    if (owner !== undefined) violations.add("token_given_again", `Token ${token} was granted to ${owner} and, for ${resource}, to ${client}.`);
    owners.set(token, client);
    const before = newest.get(client) ?? 0;
    if (token < before) violations.add("token_went_back", `${client} was granted ${resource} with token ${token} after token ${before}.`);
    newest.set(client, Math.max(before, token));
  }
  return violations.list();
}

export interface WatchOverLoss {
  /** The lives of one watcher, in order. */
  readonly lives: readonly RecordedLife[];
  /** The whole log, oldest first. */
  readonly rows: readonly LogRow[];
  readonly gaps: Gaps;
  /** It could not see everything to the end. */
  readonly wasKilled?: boolean;
}

/**
 * G10, likewise. A watcher that has seen a lost revision must be told `compacted`, not be led on above the gap as if nothing were missing;
 * before and after that it sees every revision of the log once, in order.
 */
export function checkWatchOverLoss({ lives, rows, gaps, wasKilled = false }: WatchOverLoss): readonly Violation[] {
  const violations = new Violations("G10");
  const gapAround = (revision: Revision): Gaps[number] | undefined => gaps.find(([kept, base]) => revision > kept && revision < base);
  const spans: { lives: WatchLife[]; until: Revision }[] = [];
  let current: WatchLife[] = [];
  for (const { after, changes, ended } of lives) {
    const lostAt = changes.findIndex((change) => isLost(change.revision, gaps));
    const wentOn = changes.slice(Math.max(lostAt, 0)).find((change) => !isLost(change.revision, gaps));
    const sawLost = lostAt >= 0 || isLost(after, gaps);
    if (sawLost && wentOn !== undefined) violations.add("led_over_the_loss", `A watcher that had seen lost revisions after ${after} was given revision ${wentOn.revision} next.`);
    if (!isLost(after, gaps)) current.push({ after, changes: lostAt < 0 ? changes : changes.slice(0, lostAt) });
    if (ended !== "compacted") continue;
    const last = changes.at(-1)?.revision ?? after;
    const gap = gapAround(last);
    if (gap === undefined) violations.add("compacted_without_loss", `A watcher that had seen revision ${last} was told that its past is gone, and it is not.`);
    spans.push({ lives: current, until: gap?.[0] ?? last });
    current = [];
  }
  const last = lives.at(-1)?.changes.at(-1)?.revision ?? lives.at(-1)?.after ?? 0;
  spans.push({ lives: current, until: wasKilled ? (gapAround(last)?.[0] ?? last) : Number.POSITIVE_INFINITY });
  for (const { lives: together, until } of spans) {
    const first = together[0]?.after ?? 0;
    if (together.length === 0) continue;
    const seen = checkWatch({ lives: together, rows: rows.filter((row) => row.revision > first && row.revision <= until) });
    for (const { fault, detail } of seen) violations.add(fault, detail);
  }
  return violations.list();
}
