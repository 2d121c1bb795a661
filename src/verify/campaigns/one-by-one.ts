import type { CampaignContext, CampaignResult } from "../campaign.ts";
import { Arena } from "../campaign.ts";
import type { Violation } from "../checkers/violation.ts";
import { groupKeys } from "../jobs/one-by-one.ts";
import { readWhole } from "../read-whole.ts";
import type { Message } from "../worker-process.ts";

/**
 * G1, G3, G4, G5, G6, G9. One process at a time, one promise after the other. Whatever a store does wrong every time is found here without luck; the other
 * campaigns look for what goes wrong now and then.
 */
export async function oneByOne(context: CampaignContext, { workers }: { readonly workers: number }): Promise<CampaignResult> {
  const violations: Violation[] = [];
  let steps = 0;
  for (let n = 0; n < workers; n += 1) {
    await using arena = new Arena(context, `alone-${n}`);
    const said: Message[] = [];
    const worker = arena.start("one-by-one", {}, (message) => {
      if (message.step !== undefined) said.push(message);
    });
    // It ends itself by a kill, which is as it should be.
    await worker.ended.catch((error: unknown) => {
      if (said.at(-1)?.step !== "last") throw error;
    });
    steps += said.length;
    const { rows } = await readWhole(arena.store);
    for (const message of said) violations.push(...judge(message));
    const groups = new Set(rows.filter(({ key }) => groupKeys.some((member) => member === key)).map(({ revision }) => revision));
    if (groups.size !== 1) violations.push({ guarantee: "G5", fault: "commit_torn", detail: `Four writes of one commit are spread over ${groups.size} revisions.` });
    const last = said.find(({ step }) => step === "last")?.revision;
    if (!rows.some(({ key, revision }) => key === "last" && revision === last))
      violations.push({
        guarantee: "G1",
        fault: "acknowledged_commit_missing",
        detail: `Revision ${String(last)} was acknowledged, and its process killed; the store does not have it.`,
      });
    arena.progress((n + 1) / workers);
  }
  return { figures: { processes: workers, steps }, violations };
}

function judge({ step, versions, ok, livesMs, ttlMs, answers, missing }: Message): Violation[] {
  if (step === "versions") {
    const given = versions as number[];
    const isRising = given.every((version, i) => i === 0 || version > (given[i - 1] as number));
    return isRising ? [] : [{ guarantee: "G4", fault: "version_given_again", detail: `A key that was deleted and written again had the versions ${given.join(", ")}.` }];
  }
  if (step === "stale")
    return ok === false ? [] : [{ guarantee: "G3", fault: "stale_check_passed", detail: "A commit that asked for an absent key was taken while the key was there." }];
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
