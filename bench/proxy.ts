import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { appendRate } from "./durable.ts";
import type { ServerCommand } from "./line-client.ts";
import { LineClient } from "./line-client.ts";
import type { Figure } from "./report.ts";
import { quantile, spreadOf } from "./rounds.ts";
import type { Surroundings } from "./surroundings.ts";
import { bundled, echoServer } from "./surroundings.ts";

const rounds = 20;
const callsEach = 40;

/** The time that the proxy adds to one call of another server, one caller at a time: each round alternates between the bare server and the proxy. */
export async function measureProxy({ folder, product, progress }: Surroundings): Promise<Figure[]> {
  const { file } = product("proxy.db");
  const proxied = (name: string, ...flags: readonly string[]): ServerCommand => ({
    file,
    args: ["proxy", "--store", `sqlite:${join(folder, `${name}.db`)}`, ...flags, "--", process.execPath, bundled("echo-server.mjs")],
  });
  const bare = await LineClient.open(echoServer);
  const journalled = await LineClient.open(proxied("journalled", "--effect-tool", "echo"));
  const readOnly = await LineClient.open(proxied("read-only", "--read-only-tool", "echo"));
  const descriptor = openSync(join(folder, "proxy-floor.log"), "a");
  try {
    const added: Record<"journalled" | "readOnly" | "repeated", number[]> = { journalled: [], readOnly: [], repeated: [] };
    const twoAppends: number[] = [];
    let calls = 0;
    const next = (): object => ({ n: calls++ });
    // One round that does not count, to warm up compilers and caches.
    for (let round = 0; round <= rounds; round += 1) {
      progress(`proxy: round ${round} of ${rounds}`);
      const floor = await callMs(bare, next);
      const taken = { journalled: await callMs(journalled, next), readOnly: await callMs(readOnly, next), repeated: await callMs(journalled, () => ({ n: "same" })) };
      const after = await callMs(bare, next);
      if (round === 0) continue;
      twoAppends.push(2_000 / appendRate(descriptor));
      for (const name of ["journalled", "readOnly", "repeated"] as const) added[name].push(taken[name] - (floor + after) / 2);
    }
    return [
      {
        what: "proxy: added to a recorded call (two durable commits)",
        unit: "ms",
        value: spreadOf(added.journalled),
        floor: { what: "2 × append + fdatasync", value: quantile(twoAppends, 0.5) },
        budget: { atMost: 1.5 },
      },
      { what: "proxy: added to a read-only call", unit: "ms", value: spreadOf(added.readOnly), budget: { atMost: 0.3 } },
      { what: "proxy: a repeat answered from the record, compared with the bare call", unit: "ms", value: spreadOf(added.repeated) },
    ];
  } finally {
    closeSync(descriptor);
    for (const client of [bare, journalled, readOnly]) await client.close();
  }
}

/** The median of several calls, each sent after the previous one was answered. */
async function callMs(client: LineClient, argumentsOf: () => object): Promise<number> {
  const taken: number[] = [];
  for (let i = 0; i < callsEach; i += 1) {
    const startedMs = performance.now();
    await client.request("tools/call", { name: "echo", arguments: argumentsOf() });
    taken.push(performance.now() - startedMs);
  }
  return quantile(taken, 0.5);
}
