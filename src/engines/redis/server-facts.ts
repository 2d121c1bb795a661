import { HoldfastError } from "../../kernel/errors.ts";
import { isReply } from "./redis-errors.ts";
import type { RedisSettings } from "./redis-url.ts";

export type Send = (name: string, args: readonly string[]) => Promise<unknown>;

/** The facts that one server reported when the connection was made. */
export interface RedisServerFacts {
  readonly product: "Redis" | "Valkey";
  readonly version: string;
  /** Changes with every start. */
  readonly runId: string;
  readonly isPrimary: boolean;
  readonly isCluster: boolean;
  readonly replicas: number;
  readonly evictionPolicy: string;
  /** 0 = limited only by the machine. */
  readonly maxmemoryBytes: number;
  readonly usedMemoryBytes: number;
  readonly aof: boolean;
  /** Undefined if CONFIG is not allowed. */
  readonly appendfsync: string | undefined;
  /** During a rewrite of its log or a snapshot, the server leaves syncing to the system, even with `always`. Undefined if CONFIG is not allowed. */
  readonly skipsFsyncInRewrite: boolean | undefined;
  /** When snapshots are taken: empty = never; undefined if CONFIG is not allowed. */
  readonly save: string | undefined;
  readonly minReplicas: number | undefined;
  /** The server's address. */
  readonly home: string;
}

const versionMin = [7, 0] as const;

export async function readServerFacts(send: Send, home: string): Promise<RedisServerFacts> {
  const [infoText, config] = await Promise.all([send("info", []), readConfig(send)]);
  const info = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, "m").exec(String(infoText))?.[1] ?? "";
  // While it reads its log, the server reports that it has none, so its durability is known only afterwards.
  if (info("loading") === "1") throw new HoldfastError("unavailable", "Redis is reading its data after a start; nothing was changed.", { hint: "Try again shortly." });
  const valkey = info("valkey_version");
  return {
    product: valkey === "" ? "Redis" : "Valkey",
    version: valkey === "" ? info("redis_version") : valkey,
    runId: info("run_id"),
    isPrimary: info("role") === "master",
    isCluster: info("cluster_enabled") === "1",
    replicas: Number(info("connected_slaves")),
    evictionPolicy: info("maxmemory_policy"),
    maxmemoryBytes: Number(info("maxmemory")),
    usedMemoryBytes: Number(info("used_memory")),
    aof: info("aof_enabled") === "1",
    appendfsync: config?.get("appendfsync"),
    skipsFsyncInRewrite: onOrOff(config?.get("no-appendfsync-on-rewrite")),
    save: config?.get("save"),
    minReplicas: config === undefined ? undefined : Number(config.get("min-replicas-to-write") ?? 0),
    home,
  };
}

const onOrOff = (word: string | undefined): boolean | undefined => (word === undefined ? undefined : word === "yes");

/** Undefined if the command is forbidden or removed, as in managed services. */
async function readConfig(send: Send): Promise<ReadonlyMap<string, string> | undefined> {
  try {
    const flat = (await send("config", ["GET", "appendfsync", "no-appendfsync-on-rewrite", "save", "min-replicas-to-write"])) as readonly string[];
    return new Map(Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i] as string, flat[2 * i + 1] as string]));
  } catch (error) {
    if (isReply(error)) return undefined;
    throw error;
  }
}

/** Whether the server loses nothing in a restart. */
export const isLasting = ({ aof, appendfsync, skipsFsyncInRewrite }: RedisServerFacts): boolean => aof && appendfsync === "always" && skipsFsyncInRewrite === false;

const unsupported = (message: string, hint: string): HoldfastError => new HoldfastError("store_unsupported", message, { hint });

/** Rejects a server on which the guarantees cannot hold; with `allow_loss=1`, health warns instead. */
export function requireUsable(facts: RedisServerFacts, { topology, allowLoss, waitAof }: RedisSettings): void {
  const [major = 0, minor = 0] = facts.version.split(".").map(Number);
  if (major < versionMin[0] || (major === versionMin[0] && minor < versionMin[1]))
    throw unsupported(`The server is ${facts.product} ${facts.version}; Holdfast needs Redis ${versionMin.join(".")} or newer, or Valkey.`, "Upgrade the server.");
  if (!facts.isPrimary) {
    const message = "This Redis is a replica and accepts no writes";
    const hint = "Name the primary in the store's URL, or use redis+sentinel:// or redis+cluster://, which find it.";
    throw topology === "single" ? unsupported(`${message}.`, hint) : new HoldfastError("unavailable", `${message}; nothing was changed.`, { hint });
  }
  if (facts.isCluster && topology !== "cluster")
    throw unsupported("The server is a node of a Redis Cluster.", "Use redis+cluster:// (with TLS rediss+cluster://) and name one or more of its nodes.");
  if (waitAof && (major < 7 || (major === 7 && minor < 2)))
    throw unsupported(
      `wait_aof=1 needs Redis 7.2 or newer, or Valkey; the server is ${facts.product} ${facts.version}.`,
      "Upgrade the server, or use appendfsync always and leave wait_aof out.",
    );
  if (waitAof && !facts.aof) throw unsupported("wait_aof=1 needs a server with appendonly yes.", "Set appendonly yes in the server's configuration.");
  if (allowLoss) return;
  const otherwise = "or add allow_loss=1 to the store's URL to use it all the same";
  if (facts.evictionPolicy !== "noeviction" && facts.evictionPolicy !== "")
    throw unsupported(
      `The server's maxmemory-policy is ${facts.evictionPolicy}: when memory runs short, it would silently remove parts of the store.`,
      `Set it to noeviction (CONFIG SET maxmemory-policy noeviction, and in the configuration file), ${otherwise}.`,
    );
  if (!facts.aof && facts.save === "")
    throw unsupported(
      "The server keeps nothing on disk (appendonly no, no save): a restart would lose the whole store.",
      `Set appendonly yes (and appendfsync always to lose nothing at all) in its configuration, ${otherwise}.`,
    );
}
