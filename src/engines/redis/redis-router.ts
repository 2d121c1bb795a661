import type { Redis, RedisOptions } from "ioredis";
import type { Log } from "../../kernel/log.ts";
import { ClusterMap } from "./cluster-map.ts";
import type { Connected, Driver } from "./redis-connection.ts";
import { Lost, RedisConnection } from "./redis-connection.ts";
import { closedError, connectError, isFinal, isPassing, isReply, isWrongServer, lostAnswer, replyCode, translateReply } from "./redis-errors.ts";
import type { Address, RedisSettings } from "./redis-url.ts";
import type { RedisServerFacts } from "./server-facts.ts";
import { readServerFacts } from "./server-facts.ts";

/** A sequence of commands on one connection; returns the result. */
export type CommandSequence<T> = (send: (name: string, args: readonly string[]) => Promise<unknown>, facts: RedisServerFacts) => Promise<T>;

export interface CommandRouter {
  /** For commands that are safe to repeat: sent again once if the reply is lost. */
  read<T>(key: string, sequence: CommandSequence<T>, untilMs?: number): Promise<T>;
  /** For a mutation: sent again only after a reply that proves that it was not executed. A lost reply throws `outcome_unknown`. */
  write<T>(key: string, sequence: CommandSequence<T>, untilMs?: number): Promise<T>;
  /** A separate connection to the server of a key, for commands that block it. */
  openConnection(key: string): Promise<RedisConnection>;
  /** The time at which a call that starts now must end. */
  deadline(): number;
  /** The current facts of every server in use. */
  servers(untilMs?: number): Promise<readonly RedisServerFacts[]>;
  close(): void;
}

interface Node {
  readonly reads: RedisConnection;
  readonly writes: RedisConnection;
}

/** How long to wait for one node of a cluster before asking the others who has its slots. */
const nodeMsMax = 500;
const pauseMsMin = 20;
const pauseMsMax = 250;
const singleNode = "";

/** Routes commands: to the single server, the one that the sentinels name, or the node of the key's slot. */
export class RedisRouter implements CommandRouter {
  readonly #driver: Driver;
  readonly #settings: RedisSettings;
  readonly #log: Log;
  readonly #onReady: (facts: RedisServerFacts) => void;
  readonly #map: ClusterMap | undefined;
  readonly #nodes = new Map<string, Node>();
  /** Connections to cluster nodes that are used only to ask which node serves what. */
  readonly #scouts = new Map<string, RedisConnection>();
  #closed = false;

  constructor(driver: Driver, settings: RedisSettings, log: Log, onReady: (facts: RedisServerFacts) => void) {
    this.#driver = driver;
    this.#settings = settings;
    this.#log = log;
    this.#onReady = onReady;
    this.#map =
      settings.topology === "cluster"
        ? new ClusterMap(settings.addresses, {
            ask: (address, untilMs) => this.#askSlots(address, untilMs),
            learnt: (addresses) => this.#leave(addresses),
          })
        : undefined;
  }

  read<T>(key: string, sequence: CommandSequence<T>, untilMs = this.deadline()): Promise<T> {
    return this.#travel(key, sequence, "reads", untilMs);
  }

  write<T>(key: string, sequence: CommandSequence<T>, untilMs = this.deadline()): Promise<T> {
    return this.#travel(key, sequence, "writes", untilMs);
  }

  deadline(): number {
    return performance.now() + this.#settings.deadlineMs;
  }

  async openConnection(key: string): Promise<RedisConnection> {
    if (this.#closed) throw closedError();
    const untilMs = this.deadline();
    // A caller that opens a connection has often just lost one, so refresh the map first.
    await this.#map?.renew(untilMs);
    return this.#newLink(await this.#addressOf(key, untilMs));
  }

  async servers(untilMs = this.deadline()): Promise<readonly RedisServerFacts[]> {
    const addresses = this.#map === undefined ? [singleNode] : await this.#map.primaries(untilMs);
    return Promise.all(
      addresses.map(async (address) => {
        const { send, facts } = await this.#node(address).reads.ready(untilMs);
        try {
          return await readServerFacts((name, args) => send(name, args, untilMs), facts.home);
        } catch (error) {
          throw connectError(error, this.#settings.prefix);
        }
      }),
    );
  }

  close(): void {
    this.#closed = true;
    for (const { reads, writes } of this.#nodes.values()) {
      reads.close();
      writes.close();
    }
    for (const scout of this.#scouts.values()) scout.close();
    this.#nodes.clear();
    this.#scouts.clear();
  }

  /** Closes the connections to nodes that are no longer part of the cluster. */
  #leave(addresses: ReadonlySet<string>): void {
    for (const [address, { reads, writes }] of this.#nodes) {
      if (addresses.has(address)) continue;
      reads.close();
      writes.close();
      this.#nodes.delete(address);
    }
    for (const [address, scout] of this.#scouts) {
      if (addresses.has(address)) continue;
      scout.close();
      this.#scouts.delete(address);
    }
  }

  async #travel<T>(key: string, sequence: CommandSequence<T>, use: "reads" | "writes", untilMs: number): Promise<T> {
    const { prefix } = this.#settings;
    let hasAskedAgain = false;
    let asking: string | undefined;
    for (let attempt = 0; ; attempt += 1) {
      if (this.#closed) throw closedError();
      let route: { readonly link: RedisConnection; readonly connected: Connected; readonly address: string };
      const isAsking = asking !== undefined;
      try {
        route = await this.#reach(asking ?? (await this.#addressOf(key, untilMs)), use, untilMs);
      } catch (error) {
        if (this.#map === undefined || isFinal(error) || performance.now() >= untilMs) throw error;
        // Another node may have taken over the slot meanwhile.
        await this.#pause(attempt, untilMs);
        await this.#map.renew(untilMs).catch(() => {});
        continue;
      } finally {
        asking = undefined;
      }
      const { link, connected, address } = route;
      try {
        const send = (name: string, args: readonly string[]): Promise<unknown> => {
          if (isAsking) void connected.send("asking", [], untilMs).catch(() => {});
          return connected.send(name, args, untilMs);
        };
        return await sequence(send, connected.facts);
      } catch (error) {
        if (error instanceof Lost) {
          link.drop(connected);
          if (!error.sent && performance.now() < untilMs) continue;
          if (use === "writes") throw error.sent ? lostAnswer(error.cause) : connectError(error.cause, prefix);
          if (hasAskedAgain || performance.now() >= untilMs) throw connectError(error.cause, prefix);
          hasAskedAgain = true;
          continue;
        }
        if (!isReply(error)) throw error;
        const [code, , owner] = error.message.split(" ");
        if (this.#map !== undefined && owner !== undefined && (code === "MOVED" || code === "ASK") && performance.now() < untilMs) {
          if (code === "ASK") asking = this.#map.resolve(owner, address);
          else this.#map.moved(key, this.#map.resolve(owner, address));
          continue;
        }
        if (!isPassing(error) || performance.now() >= untilMs) throw translateReply(error, prefix);
        if (isWrongServer(error)) link.drop(connected);
        await this.#pause(attempt, untilMs);
        if (replyCode(error) !== "BUSY" && replyCode(error) !== "LOADING") await this.#map?.renew(untilMs).catch(() => {});
      }
    }
  }

  async #reach(address: string, use: "reads" | "writes", untilMs: number): Promise<{ readonly link: RedisConnection; readonly connected: Connected; readonly address: string }> {
    const link = this.#node(address)[use];
    return { link, address, connected: await link.ready(this.#map === undefined ? untilMs : Math.min(untilMs, performance.now() + nodeMsMax)) };
  }

  #pause(attempt: number, untilMs: number): Promise<void> {
    const ms = Math.min(pauseMsMax, pauseMsMin * 2 ** Math.min(attempt, 8), Math.max(0, untilMs - performance.now()));
    return new Promise((resolve) => setTimeout(resolve, ms));
  }

  #addressOf(key: string, untilMs: number): Promise<string> | string {
    return this.#map === undefined ? singleNode : this.#map.addressOf(key, untilMs);
  }

  async #askSlots(address: string, untilMs: number): Promise<unknown> {
    let scout = this.#scouts.get(address);
    if (scout === undefined) {
      scout = new RedisConnection(this.#driver, () => this.#open(address), this.#settings, this.#log, { isScout: true, address: splitAddress(address) });
      this.#scouts.set(address, scout);
    }
    const endMs = Math.min(untilMs, performance.now() + nodeMsMax);
    try {
      const { send } = await scout.ready(endMs);
      return await send("cluster", ["SLOTS"], endMs);
    } catch (error) {
      throw connectError(error, this.#settings.prefix);
    }
  }

  #node(address: string): Node {
    const known = this.#nodes.get(address);
    if (known !== undefined) return known;
    const reads = this.#newLink(address);
    // Waiting for replicas blocks the connection, so reads then have their own.
    const node: Node = { reads, writes: this.#settings.waitReplicas > 0 || this.#settings.waitAof ? this.#newLink(address) : reads };
    this.#nodes.set(address, node);
    return node;
  }

  #newLink(address: string): RedisConnection {
    return new RedisConnection(this.#driver, () => this.#open(address), this.#settings, this.#log, { onReady: this.#onReady, address: this.#addressAt(address) });
  }

  #open(address: string): Redis {
    const { topology, addresses, username, password, tls, groupName, sentinelUsername, sentinelPassword, deadlineMs } = this.#settings;
    const shared: RedisOptions = {
      username,
      password,
      tls,
      lazyConnect: true,
      connectTimeout: deadlineMs,
      // The driver must never resend, queue or retry anything by itself.
      retryStrategy: null,
      autoResendUnfulfilledCommands: false,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResubscribe: false,
      enableReadyCheck: false,
      protocol: 2,
      disableClientInfo: true,
    };
    const { Redis } = this.#driver;
    if (topology === "sentinel")
      return new Redis({
        ...shared,
        sentinels: addresses.map((route) => ({ ...route })),
        name: groupName,
        role: "master",
        sentinelUsername,
        sentinelPassword,
        sentinelRetryStrategy: () => null,
        enableTLSForSentinelMode: tls !== undefined,
        sentinelTLS: tls,
        sentinelCommandTimeout: Math.min(deadlineMs, 2_000),
        failoverDetector: false,
      });
    return new Redis({ ...shared, ...this.#addressAt(address) });
  }

  /** With sentinels, the address of the first one; sentinels use TLS if the servers do. */
  #addressAt(address: string): Address {
    const { topology, addresses } = this.#settings;
    return topology === "cluster" ? splitAddress(address) : (addresses[0] as Address);
  }
}

function splitAddress(address: string): Address {
  const colon = address.lastIndexOf(":");
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) };
}
