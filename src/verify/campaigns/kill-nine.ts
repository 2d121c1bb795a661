import type { CampaignContext, CampaignResult } from "../campaign.ts";
import { Arena, openSignal, pause } from "../campaign.ts";
import { checkCommits } from "../checkers/commits.ts";
import { checkHistoryEqualsState } from "../checkers/history-equals-state.ts";
import { checkRevisions } from "../checkers/revisions.ts";
import { CommitJournal } from "../commit-journal.ts";
import { between } from "../random.ts";
import { readWhole } from "../read-whole.ts";

/** One in this many workers is killed while it is still starting or opening the store. */
const earlyKills = 12;
/** About as long as a start takes, so that a kill falls anywhere between the fork and the first commit. */
const startMsMax = 150;
const workMs = { min: 5, max: 150 } as const;
const answersMax = 16;
/** The first worker of each slot is killed after this many answers: on a machine too slow for the others, the campaign still shows every kind of commit. */
const firstAnswers = 48;

/**
 * G1, G4, G5, G11. Several processes do everything an agent can do and are killed at random, again and again. The parent keeps a journal
 * of what each sent and received and compares the store with it: nothing acknowledged is lost, nothing is torn, no revision or version
 * is missing or assigned twice, and the log reproduces the state.
 */
export async function killNine(context: CampaignContext, { kills, workers }: { readonly kills: number; readonly workers: number }): Promise<CampaignResult> {
  await using arena = new Arena(context, "kill");
  const journal = new CommitJournal();
  let killed = 0;
  let killedAtWork = 0;
  const slot = async (): Promise<void> => {
    for (let isFirst = true; killed < kills; isFirst = false) {
      const answered = openSignal<void>();
      let answersLeft = isFirst ? firstAnswers : between(arena.random, 1, answersMax);
      const worker = arena.start("load", {}, (message, { name }) => {
        journal.hear(name, message);
        if (message.answered !== undefined) answersLeft -= 1;
        if (answersLeft <= 0) answered.resolve();
      });
      if (!isFirst && between(arena.random, 1, earlyKills) === 1) await pause(between(arena.random, 1, startMsMax));
      else {
        await Promise.race([worker.ready, worker.ended]);
        // About half of the workers run until they have a few answers. On a slow store, most would otherwise be killed before they had done anything.
        if (isFirst || between(arena.random, 1, 2) === 1) await Promise.race([answered.promise, worker.ended]);
        await Promise.race([pause(between(arena.random, workMs.min, workMs.max)), worker.ended]);
        killedAtWork += 1;
      }
      worker.kill();
      killed += 1;
      await worker.ended;
      arena.progress(killed / kills);
    }
  };
  await Promise.all(Array.from({ length: workers }, slot));
  const { rows, revision, entries, nowMs } = await readWhole(arena.store);
  const { commits, acknowledged } = journal;
  return {
    figures: {
      kills: killed,
      kills_at_work: killedAtWork,
      commits_acknowledged: acknowledged.length,
      commits_unanswered: commits.filter((commit) => commit.answer === undefined).length,
      commits_refused: commits.filter((commit) => commit.answer === "refused").length,
      revisions: revision,
      log_rows: rows.length,
    },
    violations: [...checkCommits(commits, rows), ...checkRevisions({ rows, acknowledged, revision }), ...checkHistoryEqualsState({ rows, entries, nowMs })],
  };
}
