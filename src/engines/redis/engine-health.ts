import type { EngineHealth, EngineWarning } from "../../store/store.ts";
import type { RedisNamespaceFacts } from "./records.ts";
import type { RedisSettings } from "./redis-url.ts";
import type { RedisServerFacts } from "./server-facts.ts";

/** How far the server's clock may be from the host's before health reports it. */
const clockDifferenceMaxMs = 5_000;

/** The share of maxmemory from which health reports that the server is nearly full. */
const memoryShareMax = 0.9;

export interface NamespaceCounts {
  readonly facts: RedisNamespaceFacts;
  readonly logRows: number;
  readonly entries: number;
  readonly tombstones: number;
  readonly requests: number;
  readonly roundTripMs: number;
  /** The server's clock minus this machine's. */
  readonly clockDifferenceMs: number;
  /** The highest revision that this process has seen. */
  readonly shownRevision: number;
}

export function healthOf(servers: readonly RedisServerFacts[], settings: RedisSettings, counts: NamespaceCounts, shownUrl: string): EngineHealth {
  const [server] = servers as readonly [RedisServerFacts, ...RedisServerFacts[]];
  const { facts } = counts;
  return {
    engine: "redis",
    durability: durabilityOf(servers, settings),
    facts: {
      url: shownUrl,
      server_version: `${server.product} ${server.version}`,
      topology: settings.topology,
      servers: servers.length,
      replicas: servers.reduce((sum, { replicas }) => sum + replicas, 0),
      appendonly: servers.every(({ aof }) => aof),
      appendfsync: weakestFsync(servers),
      no_appendfsync_on_rewrite: skipsInRewrite(servers) ?? "cannot be checked",
      save: server.save ?? "cannot be checked",
      min_replicas_to_write: server.minReplicas ?? "cannot be checked",
      maxmemory_policy: server.evictionPolicy === "" ? "cannot be checked" : server.evictionPolicy,
      maxmemory_bytes: server.maxmemoryBytes,
      used_memory_bytes: server.usedMemoryBytes,
      wait_replicas: settings.waitReplicas,
      wait_aof: settings.waitAof,
      deadline_ms: settings.deadlineMs,
      round_trip_ms: counts.roundTripMs,
      clock_difference_ms: counts.clockDifferenceMs,
      prefix: settings.prefix,
      revision: facts.revision,
      compacted_revision: facts.compacted,
      log_rows: counts.logRows,
      entries: counts.entries,
      tombstones: counts.tombstones,
      request_keys: counts.requests,
      base: facts.base,
      gaps: facts.gaps,
    },
    warnings: [...durabilityWarnings(servers, settings), ...otherWarnings(servers, counts)],
  };
}

const weakestFsync = (servers: readonly RedisServerFacts[]): string => {
  const found = new Set(servers.map(({ aof, appendfsync }) => (aof ? (appendfsync ?? "cannot be checked") : "no log of writes")));
  return ["no log of writes", "cannot be checked", "no", "everysec", "always"].find((policy) => found.has(policy)) ?? [...found].join(", ");
};

const skipsInRewrite = (servers: readonly RedisServerFacts[]): boolean | undefined =>
  servers.some(({ aof, skipsFsyncInRewrite }) => aof && skipsFsyncInRewrite) || (servers.some(({ skipsFsyncInRewrite }) => skipsFsyncInRewrite === undefined) ? undefined : false);

/** What an acknowledged write survives, judged by the weakest server. */
function durabilityOf(servers: readonly RedisServerFacts[], { waitReplicas, waitAof, topology }: RedisSettings): string {
  const many = waitReplicas === 1 ? "1 replica" : `${waitReplicas} replicas`;
  const canFailOver = topology !== "single" || servers.some(({ replicas }) => replicas > 0);
  const failover = !canFailOver
    ? ""
    : waitReplicas > 0
      ? `; ${many} confirmed it too, so it survives a failover to one of those`
      : "; a failover to a replica may lose the last acknowledged writes (wait_replicas=N waits for them)";
  if (waitAof) return `an acknowledged write is on the disk of the primary${waitReplicas > 0 ? ` and of ${many}` : ""} (WAITAOF)${waitReplicas > 0 ? "" : failover}`;
  switch (weakestFsync(servers)) {
    case "always":
      if (skipsInRewrite(servers))
        return `an acknowledged write is on disk (appendfsync always), except while the server rewrites its log or writes a snapshot (no-appendfsync-on-rewrite yes): a loss of power then may lose the last half minute or more${failover}`;
      return `an acknowledged write is on disk (appendfsync always) before it is answered: it survives a crash of any process and a loss of power${failover}`;
    case "everysec":
      return `an acknowledged write is on disk within two seconds (appendfsync everysec): a crash of the server or a loss of power may lose the writes of those seconds${failover}`;
    case "no":
      return `the operating system decides when an acknowledged write reaches the disk (appendfsync no): a loss of power may lose the last half minute or more${failover}`;
    case "no log of writes":
      return servers.some(({ aof, save }) => !aof && save === "")
        ? "none: the server keeps nothing on disk, so a restart loses everything"
        : `an acknowledged write is in the server's memory; a restart or a loss of power loses everything since the last snapshot${failover}`;
    default:
      return `cannot be checked: the server forbids reading its settings (CONFIG GET)${failover}`;
  }
}

function durabilityWarnings(servers: readonly RedisServerFacts[], { waitReplicas, waitAof, topology }: RedisSettings): EngineWarning[] {
  const warnings: EngineWarning[] = [];
  const warn = (says: string): void => void warnings.push({ about: "durability", says });
  const fsync = weakestFsync(servers);
  if (fsync === "no log of writes") warn("The server has no log of writes: a restart loses everything since the last snapshot. Set appendonly yes and appendfsync always.");
  else if (fsync === "cannot be checked")
    warn(
      "The server forbids reading its settings (CONFIG GET), so Holdfast cannot check whether acknowledged writes are on disk. Ask its operator to set appendonly yes and appendfsync always.",
    );
  else if (fsync !== "always" && !waitAof)
    warn(
      `appendfsync is ${fsync}: acknowledged writes of the last moments can be lost in a crash. Set appendfsync always, or add wait_aof=1 to the store's URL (Redis 7.2 or newer, Valkey).`,
    );
  // Callers that wait for the disk (WAITAOF) wait longer then, but get a correct answer.
  if (skipsInRewrite(servers) && !waitAof)
    warn(
      "no-appendfsync-on-rewrite is yes: while the server rewrites its log or writes a snapshot, nothing is synced, and acknowledged writes of that time can be lost. Set it to no (CONFIG SET no-appendfsync-on-rewrite no, and in the configuration file).",
    );
  if (waitReplicas === 0 && (topology !== "single" || servers.some(({ replicas }) => replicas > 0)))
    warn("Writes do not wait for replicas: a failover may lose acknowledged writes. Add wait_replicas=1 to the store's URL, and min-replicas-to-write 1 to the server's settings.");
  return warnings;
}

function otherWarnings(servers: readonly RedisServerFacts[], { facts, clockDifferenceMs, shownRevision }: NamespaceCounts): EngineWarning[] {
  const warnings: EngineWarning[] = [];
  const evicting = servers.find(({ evictionPolicy }) => evictionPolicy !== "noeviction" && evictionPolicy !== "");
  if (evicting !== undefined)
    warnings.push({
      about: "eviction",
      says: `maxmemory-policy is ${evicting.evictionPolicy}: when memory runs short, the server removes parts of the store. Set it to noeviction.`,
    });
  const full = servers.find(({ usedMemoryBytes, maxmemoryBytes }) => maxmemoryBytes > 0 && usedMemoryBytes >= maxmemoryBytes * memoryShareMax);
  if (full !== undefined)
    warnings.push({
      about: "memory",
      says: `The server uses ${Math.floor((100 * full.usedMemoryBytes) / full.maxmemoryBytes)} % of its maxmemory; at 100 % it accepts no more writes (storage_full). Raise maxmemory, keep less history (--history-age, --history-revisions), or move the store (holdfast migrate).`,
    });
  if (Math.abs(clockDifferenceMs) > clockDifferenceMaxMs)
    warnings.push({
      about: "clock",
      says: `The server's clock is ${Math.round(Math.abs(clockDifferenceMs) / 1_000)} s ${clockDifferenceMs > 0 ? "ahead of" : "behind"} this machine's; expiry follows the server's. Check both.`,
    });
  const gap = facts.gaps.at(-1);
  if (gap !== undefined)
    warnings.push({
      about: "history",
      says: `The history went back, or may have, ${facts.gaps.length === 1 ? "once" : `${facts.gaps.length} times`} (a failover, or a restart that may have lost writes): last to revision ${gap[0]}; it then continued above ${gap[1]}, so that no revision or token is issued twice. Writes acknowledged in between may be lost.`,
    });
  if (shownRevision > facts.revision)
    warnings.push({
      about: "history",
      says: `This process has seen revision ${shownRevision}, and the server shows ${facts.revision}: history went back (a failover, or a restart that lost writes). The next write gets a revision above both.`,
    });
  return warnings;
}
