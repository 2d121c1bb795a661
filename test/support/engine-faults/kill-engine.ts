import type { CampaignResult } from "../../../src/verify/campaign.ts";
import { pause } from "../../../src/verify/campaign.ts";
import { between } from "../../../src/verify/random.ts";
import { openProgress } from "../open-progress.ts";
import type { LoadOptions } from "./engine-load.ts";
import { EngineLoad } from "./engine-load.ts";

/** A server that can be killed and started again on the same port and folder. */
export interface Mortal {
  kill9(): Promise<void>;
  restart(): Promise<void>;
}

/** At least: a server that is killed before it has done anything loses nothing. */
const commitsBetweenKills = 25;

export interface KillOptions extends LoadOptions {
  /** At least. */
  readonly kills: number;
  /** Whether enough calls were met by them; a kill that meets none shows nothing. */
  readonly isEnough?: (load: EngineLoad) => boolean;
  readonly workMs?: { readonly min: number; readonly max: number };
  readonly outageMs?: { readonly min: number; readonly max: number };
  readonly serviceMsMax?: number;
}

/** The engine is killed under load and started again, over and over; the load is still at work, for the audit or for more. */
export async function killEngine(server: Mortal, options: KillOptions): Promise<EngineLoad> {
  const { kills, isEnough = () => true, workMs = { min: 40, max: 220 }, outageMs = { min: 0, max: 120 }, serviceMsMax = 5_000 } = options;
  const load = await EngineLoad.start(options);
  const tell = openProgress("engine killed");
  for (let kill = 0; kill < kills || !isEnough(load); kill += 1) {
    await load.workFor(between(load.random, workMs.min, workMs.max), commitsBetweenKills);
    await server.kill9();
    await pause(between(load.random, outageMs.min, outageMs.max));
    await server.restart();
    await load.serviceWithin(serviceMsMax);
    tell(kill + 1, kills);
  }
  return load;
}

/** The same, and the audit of what was left. */
export async function killAndAudit(server: Mortal, options: KillOptions): Promise<CampaignResult> {
  const load = await killEngine(server, options);
  await load.stop();
  const { figures, violations } = await load.audit();
  return { figures: { kills: options.kills, ...figures }, violations };
}
