import { onFreePort } from "./free-port.ts";
import type { RedisServer } from "./redis-server.ts";
import { launchRedis, startRedis, startReplicaOf } from "./redis-server.ts";

export interface SentinelOptions {
  readonly sentinels?: number;
  readonly appendfsync?: "always" | "everysec" | "no";
  /** Settings of the primary and the replica. */
  readonly args?: readonly string[];
  /** A primary that a busy disk keeps from answering for a moment is not to be replaced before the test has it killed. */
  readonly downAfterMs?: number;
}

const groupName = "holdfast";

/** A primary and a replica with sentinels that watch them and make the replica primary when the primary is gone. */
export class SentinelGroup implements AsyncDisposable {
  readonly servers: readonly RedisServer[];
  readonly sentinels: readonly RedisServer[];
  readonly url: string;

  constructor(servers: readonly RedisServer[], sentinels: readonly RedisServer[]) {
    this.servers = servers;
    this.sentinels = sentinels;
    this.url = `redis+sentinel://${sentinels.map((sentinel) => `127.0.0.1:${sentinel.port}`).join(",")}/${groupName}`;
  }

  get #first(): RedisServer {
    const running = this.sentinels.find((sentinel) => sentinel.isRunning);
    if (running === undefined) throw new Error("No sentinel is running.");
    return running;
  }

  /** Who the sentinels say is the primary now. */
  async primary(): Promise<RedisServer> {
    const [, port] = (await this.#first.command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", groupName)) as readonly [string, string];
    const found = this.servers.find((server) => server.port === Number(port));
    if (found === undefined) throw new Error(`The sentinels name a primary on port ${port}, which is none of ours.`);
    return found;
  }

  /** Resolves with the new primary when the sentinels have replaced `old` and it takes writes. */
  async failedOver(old: RedisServer): Promise<RedisServer> {
    let current = old;
    await this.#first.waitUntil("replace the primary", async () => {
      current = await this.primary();
      return current !== old && String(await current.command("ROLE")).startsWith("master");
    });
    return current;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.sentinels, ...this.servers].map((server) => server[Symbol.asyncDispose]()));
  }
}

/** Resolves when every sentinel knows the replica and the other sentinels: from then on a failover can happen. */
export async function startSentinel({ sentinels: count = 1, appendfsync = "always", args = [], downAfterMs = 2_000 }: SentinelOptions = {}): Promise<SentinelGroup> {
  const primary = await startRedis({ appendfsync, args });
  const started = [primary];
  const sentinels: RedisServer[] = [];
  try {
    started.push(await startReplicaOf(primary, { appendfsync, args }));
    const quorum = Math.floor(count / 2) + 1;
    const watch = ["monitor", groupName, "127.0.0.1", String(primary.port), String(quorum)];
    const timing = ["--sentinel", "down-after-milliseconds", groupName, String(downAfterMs), "--sentinel", "failover-timeout", groupName, "3000"];
    for (let i = 0; i < count; i += 1) sentinels.push(await onFreePort((port) => launchRedis(port, ["--sentinel", ...watch, ...timing], { flags: ["--sentinel"] })));
    await Promise.all(sentinels.map((sentinel) => sentinel.waitUntil("know the others", () => isComplete(sentinel, count - 1))));
    return new SentinelGroup(started, sentinels);
  } catch (error) {
    await new SentinelGroup(started, sentinels)[Symbol.asyncDispose]();
    throw error;
  }
}

async function isComplete(sentinel: RedisServer, others: number): Promise<boolean> {
  const fields = (await sentinel.command("SENTINEL", "MASTER", groupName)) as readonly string[];
  const field = (name: string): number => Number(fields[fields.indexOf(name) + 1]);
  return field("num-slaves") >= 1 && field("num-other-sentinels") === others;
}
