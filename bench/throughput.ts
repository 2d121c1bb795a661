import type { BurstResult, Era } from "./line-client.ts";
import { LineClient } from "./line-client.ts";
import type { Figure } from "./report.ts";
import { against } from "./report.ts";
import { measureAgainst } from "./rounds.ts";
import type { Surroundings } from "./surroundings.ts";
import { echoServer } from "./surroundings.ts";
import { getArguments, keysInUse, setArguments } from "./workload.ts";

const rounds = 15;
const sliceMs = 200;
const inFlight = 64;
const budget = { atLeast: 0.6 };

/** Tool calls over stdio against an echo tool on the bare SDK, with the same client and the same arguments, in both protocol eras. */
export async function measureThroughput({ product, progress }: Surroundings): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const era of ["handshake", "stateless"] as const satisfies readonly Era[]) {
    const echo = await LineClient.open(echoServer, era);
    const server = await LineClient.open(product(`throughput-${era}.db`), era);
    try {
      // Every key that will be read exists.
      await server.burst({ inFlight, calls: keysInUse, tool: "state_set", argumentsOf: setArguments });
      const rate = async (result: Promise<BurstResult>): Promise<number> => (await result).ratePerSecond;
      const taken = await measureAgainst(
        () => rate(echo.burst({ inFlight, forMs: sliceMs, tool: "echo", argumentsOf: setArguments })),
        {
          sets: () => rate(server.burst({ inFlight, forMs: sliceMs, tool: "state_set", argumentsOf: setArguments })),
          gets: () => rate(server.burst({ inFlight, forMs: sliceMs, tool: "state_get", argumentsOf: getArguments })),
        },
        rounds,
        (round) => progress(`tool calls, ${era} era: round ${round} of ${rounds}`),
      );
      figures.push(against(`durable state_set over stdio, ${inFlight} in flight, ${era} era`, "per second", "echo", taken.sets, budget));
      figures.push(against(`state_get over stdio, ${inFlight} in flight, ${era} era`, "per second", "echo", taken.gets, budget));
    } finally {
      await Promise.all([echo.close(), server.close()]);
    }
  }
  return figures;
}
