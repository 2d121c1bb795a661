import { readState } from "../../domain/state/state.ts";
import type { CampaignContext, CampaignResult } from "../campaign.ts";
import { Arena, asNumber } from "../campaign.ts";
import type { Increment } from "../checkers/lost-update.ts";
import { checkNoLostUpdate } from "../checkers/lost-update.ts";
import { startWorkers } from "../worker-process.ts";

/** G3. Many processes increment one counter by compare-and-set; every success must count exactly once. */
export async function increments(context: CampaignContext, { workers, times }: { readonly workers: number; readonly times: number }): Promise<CampaignResult> {
  await using arena = new Arena(context, "increments");
  const told: Increment[] = [];
  const racers = await startWorkers(workers, () =>
    arena.start("increment", { times }, (message, { name }) => {
      told.push({ client: name, version: asNumber(message.version), value: asNumber(message.value) });
      arena.progress(told.length / (workers * times));
    }),
  );
  // Started only when all are connected; otherwise the first would be done before the last has begun.
  for (const racer of racers) racer.send({ go: true });
  await Promise.all(racers.map((racer) => racer.finish()));
  const final = await readState(arena.scope, "counter");
  return {
    figures: { processes: workers, increments: told.length, counter: Number(final?.value ?? 0) },
    violations: checkNoLostUpdate({ increments: told, unanswered: 0, final: { version: final?.version ?? 0, value: Number(final?.value ?? 0) } }),
  };
}
