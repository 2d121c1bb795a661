import { isIPv6 } from "node:net";
import { isLoopbackAddress } from "../../kernel/loopback-address.ts";

export interface GuessLimits {
  /** How many unknown credentials of one peer are looked up in a burst, and per second after that. */
  readonly perPeer: number;
  readonly perPeerPerSecond: number;
  /** For all peers together. */
  readonly perServer: number;
  readonly perServerPerSecond: number;
  /** The number of peers that are tracked. */
  readonly peersMax: number;
}

export const guessLimits: GuessLimits = { perPeer: 30, perPeerPerSecond: 5, perServer: 1_000, perServerPerSecond: 200, peersMax: 4_096 };

interface Bucket {
  left: number;
  atMs: number;
}

/**
 * Limits the lookups of unknown credentials, per peer and in total: each costs a read of the store or a signature check.
 * A lookup is deducted before it starts and returned if the credential was valid, so that concurrent guesses count too.
 */
export class GuessLimit {
  readonly #peers = new Map<string, Bucket>();
  readonly #all: Bucket;
  readonly #limits: GuessLimits;

  constructor(limits: GuessLimits, nowMs: number) {
    this.#limits = limits;
    this.#all = { left: limits.perServer, atMs: nowMs };
  }

  tryTake(address: string | undefined, nowMs: number): boolean {
    const { perPeer, perPeerPerSecond, perServer, perServerPerSecond } = this.#limits;
    const peer = this.#peerBucket(address, nowMs);
    refill(this.#all, perServer, perServerPerSecond, nowMs);
    if (peer !== undefined) refill(peer, perPeer, perPeerPerSecond, nowMs);
    if (this.#all.left < 1 || (peer !== undefined && peer.left < 1)) return false;
    if (peer !== undefined) peer.left -= 1;
    this.#all.left -= 1;
    return true;
  }

  giveBack(address: string | undefined, nowMs: number): void {
    const { perPeer, perServer } = this.#limits;
    const peer = this.#peerBucket(address, nowMs);
    if (peer !== undefined) peer.left = Math.min(perPeer, peer.left + 1);
    this.#all.left = Math.min(perServer, this.#all.left + 1);
  }

  get size(): number {
    return this.#peers.size;
  }

  /** Behind a proxy on this machine all callers have one address. One guesser must not lock out the others, so only the total limit applies there. */
  #peerBucket(address: string | undefined, nowMs: number): Bucket | undefined {
    return address !== undefined && isLoopbackAddress(address) ? undefined : this.#bucketOf(peerOf(address), nowMs);
  }

  /** The address that was quiet longest is dropped first; the total limit still applies to its replacement. */
  #bucketOf(peer: string, nowMs: number): Bucket {
    const bucket = this.#peers.get(peer) ?? { left: this.#limits.perPeer, atMs: nowMs };
    this.#peers.delete(peer);
    const [oldest] = this.#peers.keys();
    if (this.#peers.size >= this.#limits.peersMax && oldest !== undefined) this.#peers.delete(oldest);
    this.#peers.set(peer, bucket);
    return bucket;
  }
}

function refill(bucket: Bucket, max: number, perSecond: number, nowMs: number): void {
  bucket.left = Math.min(max, bucket.left + (Math.max(0, nowMs - bucket.atMs) / 1_000) * perSecond);
  bucket.atMs = nowMs;
}

/** One network customer has a whole /64 of addresses. */
function peerOf(address: string | undefined): string {
  if (address === undefined || !isIPv6(address) || address.startsWith("::ffff:")) return address ?? "";
  const [head = "", tail] = address.split("::");
  const groups = head.split(":");
  const missing = tail === undefined ? 0 : 8 - groups.length - tail.split(":").length;
  return [...groups, ...Array<string>(Math.max(0, missing)).fill("0"), ...(tail ?? "").split(":")].slice(0, 4).join(":");
}
