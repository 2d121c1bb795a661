import type { HeldSlot } from "./held-slots.ts";
import { HeldSlots } from "./held-slots.ts";
import type { HttpLimits } from "./http-limits.ts";
import { Refusal, retryAfter } from "./refusal.ts";

/** One principal's current usage. */
interface Usage {
  inFlight: number;
  streams: number;
  waits: number;
  /** The requests it may still send at once, as of `filledAtMs`. */
  tokens: number;
  filledAtMs: number;
}

/** Extra slots beyond the server's limit, for health checks. */
const vitalMax = 64;

/** Counts requests in progress, in total and per principal, and each principal's rate. */
export class Gate {
  readonly #limits: HttpLimits;
  readonly #ratePerSecond: number;
  readonly #burst: number;
  readonly #nowMs: () => number;
  readonly #byPrincipal = new Map<string, Usage>();
  readonly #waits: HeldSlots;
  readonly #streams: HeldSlots;
  #inFlight = 0;

  constructor(limits: HttpLimits, ratePerSecond: number, nowMs: () => number) {
    this.#limits = limits;
    this.#ratePerSecond = ratePerSecond;
    // Agents start together, so a second's worth of requests may come at once.
    this.#burst = Math.max(1, ratePerSecond);
    this.#nowMs = nowMs;
    this.#waits = new HeldSlots({ all: limits.waitsMax, ofPrincipal: limits.waitsPerPrincipalMax, ofNamespace: limits.waitsPerNamespaceMax });
    this.#streams = new HeldSlots({ all: limits.streamsMax, ofPrincipal: limits.streamsPerPrincipalMax, ofNamespace: limits.streamsMax });
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get streams(): number {
    return this.#streams.size;
  }

  get waits(): number {
    return this.#waits.size;
  }

  /** The number of principals whose rate is tracked. */
  get principals(): number {
    return this.#byPrincipal.size;
  }

  /** Checks the limit of the whole server, before the caller is known. `isVital`: a load balancer whose health check is rejected takes the server out of service. */
  enter(isVital = false): void {
    if (this.#inFlight >= this.#limits.inFlightMax + (isVital ? vitalMax : 0))
      throw new Refusal("unavailable", `${this.#limits.inFlightMax} requests are already being answered.`, { headers: retryAfter(1_000) });
    this.#inFlight += 1;
  }

  leave(): void {
    this.#inFlight -= 1;
  }

  /** Checks the principal's own limit and rate. Pass the returned value to `leavePrincipal`. */
  enterPrincipal(key: string): Usage {
    const usage = this.#usageOf(key);
    this.#requirePace(usage);
    if (usage.inFlight >= this.#limits.inFlightPerPrincipalMax)
      throw new Refusal("rate_limited", `${this.#limits.inFlightPerPrincipalMax} requests from this caller are already being answered.`, {
        reason: "in_flight",
        headers: retryAfter(1_000),
      });
    usage.tokens -= 1;
    usage.inFlight += 1;
    return usage;
  }

  leavePrincipal(usage: Usage): void {
    usage.inFlight -= 1;
  }

  /** Charges for one more message: a batch counts as many requests as it has messages. */
  charge(usage: Usage): void {
    this.#requirePace(usage);
    usage.tokens -= 1;
  }

  /** A call begins to wait. From now on it counts as a wait: otherwise waiting calls would leave no room for running ones. */
  openWait(usage: Usage, namespace: string, end: () => void): HeldSlot {
    const wait = { principal: usage, namespace, end };
    this.#waits.add(wait);
    usage.waits += 1;
    usage.inFlight -= 1;
    this.#inFlight -= 1;
    return wait;
  }

  closeWait(usage: Usage, wait: HeldSlot): void {
    this.#waits.delete(wait);
    usage.waits -= 1;
    usage.inFlight += 1;
    this.#inFlight += 1;
  }

  /** A request becomes a stream that stays open, and counts as one from now on. If all slots are taken, the largest holder's oldest stream is ended; the largest holder itself gets no more. */
  openStream(usage: Usage, namespace: string, end: () => void): HeldSlot {
    if (usage.streams >= this.#limits.streamsPerPrincipalMax)
      throw new Refusal("rate_limited", `${this.#limits.streamsPerPrincipalMax} streams from this caller are already open.`, { reason: "streams", headers: retryAfter(5_000) });
    if (this.#streams.largestHolder === usage)
      throw new Refusal("unavailable", `${this.#limits.streamsMax} streams are already open.`, { reason: "streams", headers: retryAfter(5_000) });
    const stream = { principal: usage, namespace, end };
    this.#streams.add(stream);
    usage.streams += 1;
    usage.inFlight -= 1;
    this.#inFlight -= 1;
    return stream;
  }

  closeStream(usage: Usage, stream: HeldSlot): void {
    this.#streams.delete(stream);
    usage.streams -= 1;
    usage.inFlight += 1;
    this.#inFlight += 1;
  }

  #requirePace(usage: Usage): void {
    const nowMs = this.#nowMs();
    usage.tokens = Math.min(this.#burst, usage.tokens + (Math.max(0, nowMs - usage.filledAtMs) * this.#ratePerSecond) / 1_000);
    usage.filledAtMs = nowMs;
    if (usage.tokens < 1)
      throw new Refusal("rate_limited", `More than ${this.#ratePerSecond} requests a second.`, {
        hint: "Send requests more slowly, or start the server with a higher --rate-limit.",
        headers: retryAfter(((1 - usage.tokens) * 1_000) / this.#ratePerSecond),
      });
  }

  #usageOf(key: string): Usage {
    const known = this.#byPrincipal.get(key);
    if (known !== undefined) return known;
    if (this.#byPrincipal.size >= this.#limits.principalsMax) this.#forgetOne();
    const usage: Usage = { inFlight: 0, streams: 0, waits: 0, tokens: this.#burst, filledAtMs: this.#nowMs() };
    this.#byPrincipal.set(key, usage);
    return usage;
  }

  /** Drops a principal without requests in progress. Which one hardly matters: it only regains its burst. */
  #forgetOne(): void {
    for (const [key, usage] of this.#byPrincipal) {
      if (usage.inFlight > 0 || usage.streams > 0 || usage.waits > 0) continue;
      this.#byPrincipal.delete(key);
      return;
    }
  }
}

export type { Usage };
