import type { CampaignContext, CampaignResult } from "../campaign.ts";
import { Arena } from "../campaign.ts";
import type { Violation } from "../checkers/violation.ts";
import { groupKeys, lastKey } from "../jobs/one-by-one.ts";
import { readWhole } from "../read-whole.ts";
import type { WorkerMessage } from "../worker-process.ts";

/**
 * G1, G3, G4, G5, G6, G9. One process at a time tests one guarantee after the other. Faults that a store shows every time are found here without luck;
 * the other campaigns look for occasional ones.
 */
export async function oneByOne(context: CampaignContext, { workers }: { readonly workers: number }): Promise<CampaignResult> {
  const violations: Violation[] = [];
  let steps = 0;
  for (let n = 0; n < workers; n += 1) {
    await using arena = new Arena(context, `alone-${n}`);
    const said: WorkerMessage[] = [];
    const worker = arena.start("one-by-one", {}, (message) => {
      if (message.step !== undefined) said.push(message);
    });
    // The worker ends by killing itself, which is expected.
    await worker.ended.catch((error: unknown) => {
      if (said.at(-1)?.step !== "last") throw error;
    });
    steps += said.length;
    const { rows } = await readWhole(arena.store);
    for (const message of said) violations.push(...judge(message));
    const group = rows.filter(({ key }) => groupKeys.some((member) => member === key));
    const spread = new Set(group.map(({ revision }) => revision)).size;
    if (spread !== 1 || group.length !== groupKeys.length)
      violations.push({ guarantee: "G5", fault: "commit_torn", detail: `Of the ${groupKeys.length} writes of one commit the log has ${group.length}, in ${spread} revisions.` });
    const kept = new Set(rows.filter(({ key }) => key === lastKey).map(({ revision }) => revision));
    const acknowledged = (said.find(({ step }) => step === "last")?.acknowledged ?? []) as readonly number[];
    const lost = acknowledged.filter((revision) => !kept.has(revision));
    if (lost.length > 0)
      violations.push({
        guarantee: "G1",
        fault: "acknowledged_commit_missing",
        detail: `The store does not have the revisions ${lost.join(", ")}, which were acknowledged before their process was killed.`,
      });
    arena.progress((n + 1) / workers);
  }
  return { figures: { processes: workers, steps }, violations };
}

function judge({ step, versions, ok, livesMs, ttlMs, answers, missing }: WorkerMessage): Violation[] {
  if (step === "versions") {
    const given = versions as number[];
    const isRising = given.every((version, i) => i === 0 || version > (given[i - 1] as number));
    return isRising ? [] : [{ guarantee: "G4", fault: "version_given_again", detail: `A key that was deleted and written again had the versions ${given.join(", ")}.` }];
  }
  if (step === "stale")
    return ok === false ? [] : [{ guarantee: "G3", fault: "stale_check_passed", detail: "A commit that required the key to be absent was accepted although the key existed." }];
  if (step === "expiry")
    return livesMs === ttlMs ? [] : [{ guarantee: "G6", fault: "lived_too_short", detail: `An entry for ${String(ttlMs)} ms was given ${String(livesMs)} ms.` }];
  if (step === "request") {
    const [first, second] = answers as number[];
    return first === second ? [] : [{ guarantee: "G9", fault: "effect_twice", detail: `One request key was answered with revision ${first} and then ${second}.` }];
  }
  if (step === "log" && (missing as number[]).length > 0)
    return [{ guarantee: "G4", fault: "revision_gap", detail: `The log lacks the revisions ${(missing as number[]).join(", ")}.` }];
  return [];
}
