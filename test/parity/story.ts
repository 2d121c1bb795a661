import { leaseScene, sessionScene, workflowScene } from "./scenes/coordination.ts";
import { effectScene } from "./scenes/effects.ts";
import { journalScene, knowledgeScene, researchScene, resumeScene } from "./scenes/memory.ts";
import { stateScene } from "./scenes/state.ts";
import { adminScene, upkeepScene } from "./scenes/upkeep.ts";
import type { Teller } from "./teller.ts";

/** Everything that agents do to a store, in one order, with every tool there is: what comes back may not depend on the engine. */
export async function tellStory(teller: Teller): Promise<Teller> {
  await stateScene(teller);
  await leaseScene(teller);
  await workflowScene(teller);
  await effectScene(teller);
  await sessionScene(teller);
  await journalScene(teller);
  await researchScene(teller);
  await knowledgeScene(teller);
  await resumeScene(teller);
  await upkeepScene(teller);
  await adminScene(teller);
  return teller;
}
