import { between } from "../../../src/verify/random.ts";
import type { FaultProxy, NetworkFault } from "../fault-proxy.ts";
import type { EngineLoad } from "./engine-load.ts";

/** What happens to the network, and for how long. */
interface Episode {
  readonly fault: NetworkFault;
  readonly ms: number;
}

/** Each longer than the calls' deadline where only that can end a call. */
export const episodes = (deadlineMs: number): readonly Episode[] => [
  { fault: { kind: "black-hole" }, ms: 1.5 * deadlineMs },
  { fault: { kind: "black-hole", only: "answers" }, ms: 1.5 * deadlineMs },
  { fault: { kind: "reset" }, ms: 300 },
  { fault: { kind: "refuse" }, ms: 300 },
  { fault: { kind: "delay", ms: 0.1 * deadlineMs }, ms: 600 },
  { fault: { kind: "delay", ms: 1.2 * deadlineMs }, ms: 1.5 * deadlineMs },
];

/** One episode after the other, with normal service in between. */
export async function breakNetwork(load: EngineLoad, proxy: FaultProxy, all: readonly Episode[], serviceMsMax: number): Promise<void> {
  for (const { fault, ms } of all) {
    await load.work(between(load.random, 50, 200));
    await proxy.set(fault);
    await load.work(ms);
    await proxy.heal();
    await load.serviceWithin(serviceMsMax);
  }
}

/** Answers that are on their way are cut, from the first byte or somewhere within, at whatever step of a commit that is; what was asked has arrived. */
export async function cutAnswers(
  load: EngineLoad,
  proxy: FaultProxy,
  { cuts, connections, serviceMsMax }: { readonly cuts: number; readonly connections: number; readonly serviceMsMax: number },
): Promise<void> {
  for (let cut = 0; cut < cuts; cut += 1) {
    await load.work(between(load.random, 20, 80));
    const before = proxy.counters.cuts;
    await proxy.set({ kind: "cut-answers", afterBytes: cut % 3 === 0 ? 0 : between(load.random, 1, 1_500), times: connections });
    for (let waited = 0; proxy.counters.cuts < before + connections && waited < 100; waited += 5) await load.work(5);
    await proxy.heal();
    await load.serviceWithin(serviceMsMax);
  }
}
