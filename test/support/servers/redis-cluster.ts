import type { RedisServer } from "./redis-server.ts";
import { startRedis } from "./redis-server.ts";

export interface RedisClusterOptions {
  readonly appendfsync?: "always" | "everysec" | "no";
  /** Settings of every node, for example `["--cluster-node-timeout", "500"]`. */
  readonly args?: readonly string[];
}

const slots = 16_384;

/** Half of the nodes are primaries, which share the slots; each of the others follows one of them. */
export class RedisCluster implements AsyncDisposable {
  readonly nodes: readonly RedisServer[];
  readonly url: string;

  constructor(nodes: readonly RedisServer[]) {
    this.nodes = nodes;
    this.url = `redis+cluster://${nodes.map((node) => `127.0.0.1:${node.port}`).join(",")}`;
  }

  /** The node that serves a key now, as the first node that runs sees it. */
  async primaryOf(key: string): Promise<RedisServer> {
    const asked = this.nodes.find((node) => node.isRunning);
    if (asked === undefined) throw new Error("No node of the cluster is running.");
    const slot = Number(await asked.command("CLUSTER", "KEYSLOT", key));
    const ranges = (await asked.command("CLUSTER", "SLOTS")) as readonly (readonly [number, number, readonly [string, number]])[];
    const port = ranges.find(([from, to]) => from <= slot && slot <= to)?.[2][1];
    const found = this.nodes.find((node) => node.port === port);
    if (found === undefined) throw new Error(`No node serves slot ${slot}.`);
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.nodes.map((node) => node[Symbol.asyncDispose]()));
  }
}

/** A Redis Cluster on loopback: 6 nodes are 3 primaries with a replica each. Resolves when every node says that the cluster is whole. */
export async function startRedisCluster(size = 6, { appendfsync = "always", args = [] }: RedisClusterOptions = {}): Promise<RedisCluster> {
  // A primary that a busy disk keeps from answering for a moment is not to be replaced before the test has it killed.
  // A replica counts once it has received something; an empty primary sends its first ping after ten seconds by default.
  const settings = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--repl-ping-replica-period", "1", ...args];
  const started = await Promise.allSettled(Array.from({ length: size }, () => startRedis({ appendfsync, args: settings })));
  const cluster = new RedisCluster(started.flatMap((result) => (result.status === "fulfilled" ? [result.value] : [])));
  try {
    for (const result of started) if (result.status === "rejected") throw result.reason;
    await form(cluster.nodes);
    return cluster;
  } catch (error) {
    await cluster[Symbol.asyncDispose]();
    throw error;
  }
}

async function form(nodes: readonly RedisServer[]): Promise<void> {
  const primaries = nodes.slice(0, nodes.length / 2);
  const replicas = nodes.slice(primaries.length);
  const ids = await Promise.all(primaries.map((node) => node.command("CLUSTER", "MYID")));
  await Promise.all(nodes.map((node, i) => node.command("CLUSTER", "SET-CONFIG-EPOCH", i + 1)));
  const share = Math.ceil(slots / primaries.length);
  await Promise.all(primaries.map((node, i) => node.command("CLUSTER", "ADDSLOTSRANGE", i * share, Math.min(slots, (i + 1) * share) - 1)));
  // Every node is introduced to every other: waiting for the word to go round takes longer.
  await Promise.all(nodes.flatMap((node, i) => nodes.slice(i + 1).map((other) => node.command("CLUSTER", "MEET", "127.0.0.1", other.port))));
  await all(nodes, "know the others", async (node) => knownNodes(await node.command("CLUSTER", "NODES")) === nodes.length);
  await Promise.all(replicas.map((node, i) => node.command("CLUSTER", "REPLICATE", String(ids[i % primaries.length]))));
  await all(replicas, "follow its primary", async (node) => String(await node.command("INFO", "replication")).includes("master_link_status:up"));
  await all(nodes, "call the cluster whole", async (node) => {
    const [info, slotRanges] = await Promise.all([node.command("CLUSTER", "INFO"), node.command("CLUSTER", "SLOTS")]);
    // A client learns of the replicas here: every range must name a primary and one replica at least.
    return String(info).includes("cluster_state:ok") && (slotRanges as readonly (readonly unknown[])[]).every((range) => range.length >= 4);
  });
}

/** Still unknown to one another are nodes in a handshake. */
const knownNodes = (answer: unknown): number =>
  String(answer)
    .split("\n")
    .filter((line) => line !== "" && !line.includes("handshake")).length;

const all = (nodes: readonly RedisServer[], what: string, holds: (node: RedisServer) => Promise<boolean>): Promise<unknown> =>
  Promise.all(nodes.map((node) => node.waitUntil(what, () => holds(node))));
