import type { CampaignResult } from "../../../src/verify/campaign.ts";
import type { LoadOptions } from "./engine-load.ts";
import { EngineLoad } from "./engine-load.ts";

export interface FailOverOptions extends LoadOptions {
  /** Kills the primary, in whatever way, and resolves when another has taken its place. */
  readonly fail: (load: EngineLoad) => Promise<unknown>;
  readonly serviceMsMax: number;
}

const workMs = 400;

/** Under load, another server takes the place of the one that served. What was acknowledged and is lost is counted; everything else is held to what is promised. */
export async function failOver({ fail, serviceMsMax, ...options }: FailOverOptions): Promise<CampaignResult> {
  const load = await EngineLoad.start(options);
  await load.work(workMs);
  await fail(load);
  await load.serviceWithin(serviceMsMax);
  await load.work(workMs);
  await load.stop();
  return load.audit({ loss: "counted" });
}
