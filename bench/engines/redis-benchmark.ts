import { spawn } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { connect, createServer } from "node:net";
import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { startRedis } from "../../test/support/servers/redis-server.ts";
import { requireRedisPrograms } from "../../test/support/servers/server-programs.ts";
import { keyOf, noteOf } from "../workload.ts";
import type { Floors } from "./measure-engines.ts";

/** Redis's own benchmark, running exactly the script that our engine runs for one commit: the call is captured from the connection. */
export async function openRedisBenchmark(server: Awaited<ReturnType<typeof startRedis>>): Promise<Floors> {
  const programs = await requireRedisPrograms();
  const call = await commitOnTheWire(server);
  await server.command("SET", "bench:floor", JSON.stringify(noteOf(0)));
  const rate = async (clients: number, requests: number, args: readonly string[]): Promise<number> => {
    const child = spawn(programs.path("benchmark"), ["-h", "127.0.0.1", "-p", String(server.port), "-c", String(clients), "-n", String(requests), "--csv", ...args]);
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    child.stdin.end();
    await once(child, "close");
    // The last line ends with seven figures: requests per second, then six latencies. Before them is the call itself, with its quotes.
    const found = /"([\d.]+)"(?:,"[\d.]+"){6}$/.exec(output.trim())?.[1];
    if (found === undefined) throw new Error(`redis-benchmark did not print a rate:\n${output}`);
    return Number(found);
  };
  return {
    name: "redis-benchmark",
    oneCommit: () => rate(1, 4_000, call),
    manyCommits: () => rate(64, 20_000, call),
    reads: () => rate(64, 60_000, ["GET", "bench:floor"]),
  };
}

/** Sends one commit through a recording proxy and returns its script call. */
async function commitOnTheWire(server: Awaited<ReturnType<typeof startRedis>>): Promise<readonly string[]> {
  const chunks: Buffer[] = [];
  const tap = createServer((client) => {
    const upstream = connect(server.port, "127.0.0.1");
    client.on("data", (bytes: Buffer) => chunks.push(bytes));
    client.pipe(upstream).pipe(client);
    for (const socket of [client, upstream] as Socket[]) socket.on("error", () => socket.destroy());
  }).listen(0, "127.0.0.1");
  await once(tap, "listening");
  const url = new URL(server.url);
  url.port = String((tap.address() as AddressInfo).port);
  try {
    await using engine = await openEngine(url.href);
    const store = openNamespaceStore(engine, "bench-floor", systemClock);
    const key = keyOf(0);
    // Twice: the first call registers the namespace and loads the script.
    for (const n of [0, 1])
      await store.commit({ writes: [{ op: "put", key: `state/${key}`, value: noteOf(n), record: { kind: "state", op: "set", subject: key } }], writer: "bench" });
  } finally {
    tap.close();
  }
  const call = callsIn(Buffer.concat(chunks)).findLast(([name, , , ...rest]) => /^evalsha$/i.test(String(name)) && rest.some((part) => part.includes("agents/worker-0")));
  if (call === undefined) throw new Error("No script call was seen on the wire.");
  return call.map(String);
}

/** The commands in a stream of requests: arrays of length-prefixed strings. */
function callsIn(stream: Buffer): Buffer[][] {
  const calls: Buffer[][] = [];
  let at = 0;
  const count = (mark: string): number => {
    const end = stream.indexOf("\r\n", at);
    const line = stream.toString("latin1", at, end);
    if (end < 0 || line[0] !== mark) throw new Error("The connection uses an unexpected protocol.");
    at = end + 2;
    return Number(line.slice(1));
  };
  while (at < stream.length) {
    calls.push(
      Array.from({ length: count("*") }, () => {
        const length = count("$");
        const part = stream.subarray(at, at + length);
        at += length + 2;
        return part;
      }),
    );
  }
  return calls;
}
