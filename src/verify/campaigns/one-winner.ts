import { requireRunView } from "../../domain/workflows/find-runs.ts";
import { createRun } from "../../domain/workflows/workflows.ts";
import type { CampaignContext, CampaignResult } from "../campaign.ts";
import { Arena } from "../campaign.ts";
import type { Race } from "../checkers/one-winner.ts";
import { checkOneWinner } from "../checkers/one-winner.ts";
import { startWorkers } from "../worker-process.ts";

/** G8. All racers claim each run at once, each in its own process; exactly one must get it. */
export async function oneWinner(context: CampaignContext, { racers, runs }: { readonly racers: number; readonly runs: number }): Promise<CampaignResult> {
  await using arena = new Arena(context, "claims");
  const workers = await startWorkers(racers, () => arena.start("claim"));
  const races: Race[] = [];
  const winnersEver = new Set<string>();
  for (let i = 0; i < runs; i += 1) {
    const run = `run-${i}`;
    await createRun(arena.scope, { name: run, runId: run });
    // A different racer starts first each time, so that none always has the lead.
    const turn = workers.map((_, k) => workers[(k + i) % workers.length] as (typeof workers)[number]);
    const answers = await Promise.all(turn.map(async (worker) => ({ name: worker.name, answer: await worker.ask({ run }) })));
    const winners = answers.filter(({ answer }) => answer.won === true).map(({ name }) => name);
    for (const name of winners) winnersEver.add(name);
    races.push({ name: run, winners, unanswered: [], holder: (await requireRunView(arena.scope, run)).agentId });
    arena.progress((i + 1) / runs);
  }
  await Promise.all(workers.map((worker) => worker.finish()));
  return {
    figures: { racers, runs: races.length, winners: races.reduce((sum, race) => sum + race.winners.length, 0), different_winners: winnersEver.size },
    violations: checkOneWinner(races),
  };
}
