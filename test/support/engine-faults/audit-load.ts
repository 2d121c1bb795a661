import { stateKeys } from "../../../src/domain/keyspace.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import type { Engine, LogRow, NamespaceFacts } from "../../../src/store/store.ts";
import type { CampaignResult } from "../../../src/verify/campaign.ts";
import { checkAtomic } from "../../../src/verify/checkers/atomic.ts";
import { checkCommits } from "../../../src/verify/checkers/commits.ts";
import { checkHistoryEqualsState } from "../../../src/verify/checkers/history-equals-state.ts";
import { checkNoLostUpdate } from "../../../src/verify/checkers/lost-update.ts";
import { checkRetrySafe } from "../../../src/verify/checkers/retry-safe.ts";
import { checkRevisions } from "../../../src/verify/checkers/revisions.ts";
import type { Violation } from "../../../src/verify/checkers/violation.ts";
import { Violations } from "../../../src/verify/checkers/violation.ts";
import { readWhole } from "../../../src/verify/read-whole.ts";
import type { CallRules } from "./check-calls.ts";
import { checkCalls } from "./check-calls.ts";
import { checkNeverGivenAgain, checkTokens, checkWatchOverLoss, isLost } from "./check-loss.ts";
import { counters, groupMembers } from "./load-job.ts";
import type { LoadJournal } from "./load-journal.ts";

export interface AuditRules {
  readonly calls: CallRules;
  /** Where the engine's settings do not promise that acknowledged commits stay, those that the namespace itself says are lost are counted instead of held against it. */
  readonly loss: "forbidden" | "counted";
}

/** Holds a namespace that nobody writes to any more to what its clients were told while the engine failed under them. */
export async function auditLoad(engine: Engine, namespace: string, journal: LoadJournal, rules: AuditRules): Promise<CampaignResult> {
  const store = openNamespaceStore(engine, namespace, systemClock);
  const { rows, entries, nowMs, revision } = await readWhole(store);
  const { facts } = await engine.dump(namespace, { part: "log", after: revision });
  const gaps = rules.loss === "counted" ? facts.gaps : [];
  const { commits, acknowledged } = journal.commits;
  const calls = journal.calls;
  const requests = [...journal.requests.values()];
  const isKept = (answer: (typeof commits)[number]["answer"]): boolean => answer === undefined || answer === "refused" || !isLost(answer.revision, gaps);
  return {
    figures: {
      commits_acknowledged: acknowledged.length,
      commits_lost: acknowledged.filter((commit) => isLost(commit.revision, facts.gaps)).length,
      calls: calls.length,
      failed: journal.ended("unavailable"),
      unknown: journal.ended("outcome_unknown"),
      requests_unknown: requests.filter((request) => request.unknown).length,
      requests_resolved: requests.filter((request) => request.unknown && request.answers.length > 0).length,
      longest_call_ms: calls.reduce((longest, call) => Math.max(longest, call.tookMs ?? 0), 0),
      watcher_lives: [...journal.lives.values()].reduce((sum, lives) => sum + lives.length, 0),
      watchers_told_of_loss: [...journal.lives.values()].flat().filter((life) => life.ended === "compacted").length,
      grants: journal.grants.length,
      log_rows: rows.length,
      leaps: facts.gaps.length,
    },
    violations: [
      ...checkCalls(calls, rules.calls),
      ...(rules.loss === "forbidden" ? checkNoLeap(facts) : []),
      ...checkCommits(
        commits.filter(({ answer }) => isKept(answer)),
        rows,
      ),
      ...checkNeverGivenAgain(commits),
      ...checkTokens(journal.grants),
      ...checkRevisions({ rows, acknowledged: acknowledged.filter((commit) => !isLost(commit.revision, gaps)), revision, gaps }),
      ...checkHistoryEqualsState({ rows, entries, nowMs }),
      ...checkAtomic(groupMembers, journal.sightings),
      ...[...journal.lives].flatMap(([client, lives]) => checkWatchOverLoss({ lives, rows, gaps, wasKilled: journal.killed.has(client) })),
      ...checkRequests(journal, rows, gaps),
      ...(facts.gaps.length === 0 ? checkCounters(journal, rows) : []),
    ],
  };
}

function checkNoLeap({ base, gaps }: NamespaceFacts): readonly Violation[] {
  const violations = new Violations("G4");
  if (base !== 0 || gaps.length > 0) violations.add("history_went_back", `The namespace says that its history went back ${gaps.length} times, and goes on above ${base}.`);
  return violations.list();
}

/** G9. What a lost answer was is found out under the request key: every one of them, once, and always the same. */
function checkRequests(journal: LoadJournal, rows: readonly LogRow[], gaps: NamespaceFacts["gaps"]): readonly Violation[] {
  const effects = new Map<string, number>();
  for (const row of rows) {
    const by = row.op === "put" ? (row.value as { by?: string } | null)?.by : undefined;
    if (by !== undefined) effects.set(by, (effects.get(by) ?? 0) + 1);
  }
  const unresolved = new Violations("G9");
  const requests = [...journal.requests.values()];
  for (const { client, by, unknown, answers } of requests)
    if (unknown && answers.length === 0 && !journal.killed.has(client)) unresolved.add("never_resolved", `Nobody was told what became of ${by}.`);
  // Where history went back, an answer may be lost with its effect and given anew; that it has not two effects holds even so.
  const heard = (answers: readonly { readonly text: string }[]): readonly string[] => (gaps.length === 0 ? answers.map((answer) => answer.text) : []);
  const retried = requests.filter(({ unknown, answers }) => unknown || answers.length > 0);
  return [
    ...unresolved.list(),
    ...checkRetrySafe(
      retried.map(({ by, answers }) => ({ key: by, answers: heard(answers), effects: effects.get(by) ?? 0, refused: gaps.length === 0 && answers[0]?.ok === false })),
    ),
  ];
}

/** G3. With every lost answer found out, each counter stands at exactly the number of increments that were told they had happened. */
function checkCounters(journal: LoadJournal, rows: readonly LogRow[]): readonly Violation[] {
  return counters.flatMap((key) => {
    const requests = [...journal.requests.values()].filter((request) => request.key === key);
    const unanswered = requests.filter(({ client, answers }) => answers.length === 0 && journal.killed.has(client)).length;
    const increments = requests.flatMap(({ client, count, answers }) => (answers[0]?.ok === true ? [{ client, version: answers[0].version, value: count }] : []));
    const last = rows.findLast((row) => row.key === stateKeys.key(key));
    const final = { version: last?.version ?? 0, value: Number((last?.value as { count?: number } | undefined)?.count ?? 0) };
    return checkNoLostUpdate({ increments, unanswered, final });
  });
}
