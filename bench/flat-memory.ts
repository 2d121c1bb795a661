import { LineClient } from "./line-client.ts";
import type { Figure } from "./report.ts";
import { quantile } from "./rounds.ts";
import type { Surroundings } from "./surroundings.ts";
import { getArguments, setArguments } from "./workload.ts";

export interface Sample {
  readonly calls: number;
  readonly mebibytes: number;
}

const inFlight = 64;
const callsPerBurst = 5_000;
/** Filling the page cache and compiling the hot code is not a leak. */
const warmUpCalls = 200_000;

/** Resident memory while one server answers call after call: its growth per 100,000 calls once it is warm. */
export async function measureFlatMemory({ product, progress }: Surroundings, { calls }: { readonly calls: number }): Promise<Figure[]> {
  const client = await LineClient.open(product("flat-memory.db"));
  try {
    const samples: Sample[] = [];
    for (let done = 0; done < warmUpCalls + calls; ) {
      for (const [tool, argumentsOf] of mix) done += (await client.burst({ inFlight, calls: callsPerBurst, tool, argumentsOf: (n) => argumentsOf(done + n) })).calls;
      const mebibytes = client.residentBytes() / 1_048_576;
      if (done > warmUpCalls) samples.push({ calls: done, mebibytes });
      progress(`memory over many calls: ${done.toLocaleString("en-US")} calls, ${mebibytes.toFixed(0)} MiB`);
    }
    const sizes = samples.map(({ mebibytes }) => mebibytes);
    const after = `after ${warmUpCalls.toLocaleString("en-US")} calls, over ${calls.toLocaleString("en-US")} more`;
    const slope = slopePer(samples, 100_000);
    return [
      { what: `resident memory ${after}`, unit: "MiB", value: { median: quantile(sizes, 0.5), min: Math.min(...sizes), max: Math.max(...sizes) } },
      { what: `memory gained per 100,000 calls ${after}`, unit: "MiB", value: { median: slope, min: slope, max: slope }, budget: { atMost: 2 } },
    ];
  } finally {
    await client.close();
  }
}

const mix: readonly (readonly [tool: string, argumentsOf: (n: number) => object])[] = [
  ["state_set", setArguments],
  ["state_get", getArguments],
  ["lease_acquire", (n) => ({ resource_id: `resource-${n % 100}`, holder_id: "bench", ttl_seconds: 60 })],
];

/** The median of the slopes between all pairs of samples: occasional garbage collections do not affect it. */
export function slopePer(samples: readonly Sample[], calls: number): number {
  const slopes = samples.flatMap((a, i) => samples.slice(i + 1).map((b) => ((b.mebibytes - a.mebibytes) / (b.calls - a.calls)) * calls));
  return quantile(slopes, 0.5);
}
