import { HoldfastError } from "../../kernel/errors.ts";
import type { Address } from "./redis-url.ts";

const slotCount = 16_384;

type SlotRange = readonly [from: number, to: number, primary: readonly [host: string, port: number, ...rest: unknown[]], ...replicas: unknown[]];

export interface ClusterNodes {
  /** The reply of one node to CLUSTER SLOTS. */
  ask(address: string, untilMs: number): Promise<unknown>;
  /** Called with all current nodes and those in the URL. */
  learnt(addresses: ReadonlySet<string>): void;
}

/** The node that serves each slot, learnt from any node that replies and kept until it proves wrong. */
export class ClusterMap {
  readonly #seeds: readonly string[];
  readonly #nodes: ClusterNodes;
  readonly #owners: (string | undefined)[] = new Array<string | undefined>(slotCount).fill(undefined);
  #known: readonly string[] = [];
  #renewing: Promise<void> | undefined;

  constructor(seeds: readonly Address[], nodes: ClusterNodes) {
    this.#seeds = seeds.map(({ host, port }) => `${host}:${port}`);
    this.#nodes = nodes;
  }

  async addressOf(key: string, untilMs: number): Promise<string> {
    const slot = slotOf(key);
    if (this.#owners[slot] === undefined) await this.renew(untilMs);
    const owner = this.#owners[slot];
    if (owner === undefined)
      throw new HoldfastError("unavailable", `No node of the Redis Cluster serves slot ${slot}; nothing was changed.`, {
        hint: "Check the cluster (CLUSTER INFO). Holdfast continues once the slot is served.",
      });
    return owner;
  }

  async primaries(untilMs: number): Promise<readonly string[]> {
    await this.renew(untilMs);
    return [...new Set(this.#owners.filter((owner) => owner !== undefined))];
  }

  /** A node reported that another one serves this slot now. */
  moved(key: string, owner: string): void {
    this.#owners[slotOf(key)] = owner;
  }

  /** Nodes name each other as HOST:PORT. Without a host, the address has the host of the node that replied. */
  resolve(address: string, asked: string): string {
    return address.startsWith(":") ? `${asked.slice(0, asked.lastIndexOf(":"))}${address}` : address;
  }

  /** Asks all known nodes and those in the URL; the first reply counts. Concurrent callers share the result. */
  renew(untilMs: number): Promise<void> {
    this.#renewing ??= this.#learn(untilMs).finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #learn(untilMs: number): Promise<void> {
    const nodes = [...new Set([...this.#known, ...this.#seeds])];
    // All at once, because one of them may never reply.
    const asked = nodes.map(async (node) => this.#learnFrom(node, (await this.#nodes.ask(node, untilMs)) as readonly SlotRange[]));
    try {
      await Promise.any(asked);
    } catch (error) {
      const { errors } = error as AggregateError;
      throw errors.find((one) => one instanceof HoldfastError) ?? errors[0];
    }
  }

  #learnFrom(node: string, ranges: readonly SlotRange[]): void {
    if (ranges.length === 0)
      throw new HoldfastError("unavailable", "A node of the Redis Cluster reports no slots; nothing was changed.", { hint: "Check the cluster (CLUSTER INFO)." });
    this.#owners.fill(undefined);
    const known = new Set<string>();
    for (const [from, to, ...members] of ranges) {
      const addresses = members.map((member) => this.#addressIn(member as readonly [string, number], node));
      for (const address of addresses) known.add(address);
      this.#owners.fill(addresses[0], from, to + 1);
    }
    this.#known = [...known];
    this.#nodes.learnt(new Set([...known, ...this.#seeds]));
  }

  #addressIn([host, port]: readonly [string, number], node: string): string {
    return this.resolve(`${host ?? ""}:${port}`, node);
  }
}

/** The slot of a key: CRC16 (XMODEM) of the text in its first braces, or of the whole key. */
export function slotOf(key: string): number {
  const open = key.indexOf("{");
  const close = open < 0 ? -1 : key.indexOf("}", open + 1);
  const bytes = Buffer.from(close > open + 1 ? key.slice(open + 1, close) : key);
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
  }
  return crc % slotCount;
}
