import { between } from "../../../src/verify/random.ts";
import type { FaultProxy, NetworkFault } from "../fault-proxy.ts";
import type { ServerProcess } from "../servers/server-process.ts";
import type { EngineLoad } from "./engine-load.ts";

/** Something goes wrong for a while, and is mended. */
interface Episode {
  readonly begin: () => void | Promise<void>;
  readonly ms: number;
  readonly end: () => void | Promise<void>;
}

/** Each longer than the calls' deadline where only that can end a call. */
export function episodes(proxy: FaultProxy, server: ServerProcess, deadlineMs: number): readonly Episode[] {
  const fault = (kind: NetworkFault, ms: number): Episode => ({ begin: () => proxy.set(kind), ms, end: () => proxy.heal() });
  return [
    fault({ kind: "black-hole" }, 1.5 * deadlineMs),
    fault({ kind: "black-hole", only: "answers" }, 1.5 * deadlineMs),
    fault({ kind: "reset" }, 300),
    fault({ kind: "refuse" }, 300),
    fault({ kind: "delay", ms: 0.1 * deadlineMs }, 600),
    fault({ kind: "delay", ms: 1.2 * deadlineMs }, 1.5 * deadlineMs),
    // What it was sent before is done when it goes on, long after those who sent it have given up.
    { begin: () => server.pause(), ms: 1.5 * deadlineMs, end: () => server.resume() },
  ];
}

/** One episode after the other, with normal service in between. */
export async function goThrough(load: EngineLoad, all: readonly Episode[], serviceMsMax: number): Promise<void> {
  for (const { begin, ms, end } of all) {
    await load.work(between(load.random, 50, 200));
    await begin();
    await load.work(ms);
    await end();
    await load.serviceWithin(serviceMsMax);
  }
}

export interface Cuts {
  /** At least. */
  readonly cuts: number;
  /** Whether enough was met by them. */
  readonly isEnough: () => boolean;
  /** How many connections meet each of them. */
  readonly connections: number;
  readonly serviceMsMax: number;
}

/** Answers that are on their way are cut, from the first byte or somewhere within, at whatever step of a commit that is; what was asked has arrived. */
export async function cutAnswers(load: EngineLoad, proxy: FaultProxy, { cuts, isEnough, connections, serviceMsMax }: Cuts): Promise<void> {
  for (let cut = 0; cut < cuts || !isEnough(); cut += 1) {
    await load.work(between(load.random, 20, 80));
    const before = proxy.counters.cuts;
    await proxy.set({ kind: "cut-answers", afterBytes: cut % 3 === 0 ? 0 : between(load.random, 1, 1_500), times: connections });
    for (let waited = 0; proxy.counters.cuts < before + connections && waited < 100; waited += 5) await load.work(5);
    await proxy.heal();
    await load.serviceWithin(serviceMsMax);
  }
}
