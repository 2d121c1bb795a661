import { leaseKeys, stateKeys } from "../../domain/keyspace.ts";
import type { LogRow } from "../../store/store.ts";
import type { CampaignContext, CampaignResult } from "../campaign.ts";
import { Arena, asNumber, pause, whileAlive } from "../campaign.ts";
import type { FencingEvent } from "../checkers/fencing.ts";
import { checkFencing } from "../checkers/fencing.ts";
import type { Violation } from "../checkers/violation.ts";
import { Violations } from "../checkers/violation.ts";
import { between } from "../random.ts";
import { readWholeLog } from "../read-whole.ts";
import type { WorkerMessage, WorkerProcess } from "../worker-process.ts";
import { startWorkers } from "../worker-process.ts";

/** Long enough that a holder is stopped while it holds the lease, short enough for a thousand takeovers. */
const ttlMs = 120;
/** A stale holder writes every few milliseconds, but on a busy machine its next write may take a while. */
const refusalWaitMs = 60_000;
const crewSize = 3;
/** A holder stopped in the middle of a transaction keeps the file locked. It is continued once the others have waited this long. */
const lockWaitMs = 400;

export interface FencingSize {
  readonly takeOvers: number;
  /** Independent crews of workers, each with its own leases. */
  readonly crews: number;
  readonly leasesPerCrew: number;
}

/**
 * G7. A holder is stopped (SIGSTOP) while it writes under its tokens, stays stopped past its time to live, is replaced, and is continued (SIGCONT).
 * It keeps writing as if nothing had happened, and every such write must be rejected. There is at most one holder at a time, and tokens only increase.
 */
export async function fencing(context: CampaignContext, { takeOvers, crews, leasesPerCrew }: FencingSize): Promise<CampaignResult> {
  await using arena = new Arena(context, "fencing");
  const tally = new Tally();
  const crew = async (index: number): Promise<void> => {
    const resources = Array.from({ length: leasesPerCrew }, (_, i) => `crew-${index}/lease-${i}`);
    const workers = await startWorkers(crewSize, () => arena.start("lease", {}, (message, { name }) => tally.hear(name, message)));
    const first = workers[0] as WorkerProcess;
    first.send({ take: resources, ttlMs });
    await whileAlive(workers, tally.holds(first.name, resources.length));
    for (let round = 0; tally.takeOvers < takeOvers && tally.neverRefused.length === 0; round += 1) {
      const holder = workers[round % crewSize] as WorkerProcess;
      const successor = workers[(round + 1) % crewSize] as WorkerProcess;
      await pause(between(arena.random, 0, 15));
      holder.stop();
      const heldWhenStopped = tally.held(holder.name);
      successor.send({ take: resources, ttlMs });
      const taken = whileAlive(workers, tally.holds(successor.name, resources.length));
      if (!(await within(taken, ttlMs + lockWaitMs))) tally.lockedRounds += 1;
      holder.proceed();
      await taken;
      // Every grant ends with one rejected write, because a holder never stops voluntarily. Without a rejection it would run forever.
      if (!(await within(whileAlive(workers, tally.holds(holder.name, 0)), refusalWaitMs))) {
        tally.neverRefused.push(holder.name);
        return;
      }
      tally.takeOvers += heldWhenStopped;
      arena.progress(tally.takeOvers / takeOvers);
    }
    // With a store that rejects no write, the workers would never end.
    if (tally.neverRefused.length === 0) await Promise.all(workers.map((worker) => worker.finish()));
  };
  await Promise.all(Array.from({ length: crews }, (_, index) => crew(index)));
  const { rows } = await readWholeLog(arena.store);
  const { perLease, writes } = fencingEvents(rows);
  return {
    figures: {
      take_overs: tally.takeOvers,
      processes: crews * crewSize,
      leases: perLease.size,
      guarded_writes_accepted: writes,
      stale_writes_refused: tally.refused,
      stopped_inside_a_transaction: tally.lockedRounds,
    },
    violations: [...[...perLease.values()].flatMap(checkFencing), ...tally.compare(perLease)],
  };
}

async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  return Promise.race([promise.then(() => true), pause(ms).then(() => false)]);
}

/** Collects the answers that holders received and lets the campaign wait for them. */
class Tally {
  /** Leases whose holder was stopped while holding them, was replaced, and was rejected after it continued. */
  takeOvers = 0;
  lockedRounds = 0;
  refused = 0;
  readonly neverRefused: string[] = [];
  readonly #held = new Map<string, number>();
  readonly #grants: { readonly resource: string; readonly holder: string; readonly token: number }[] = [];
  /** Accepted writes per token, as counted by its holder. */
  readonly #accepted = new Map<string, number>();
  #wake: (() => void)[] = [];

  hear(name: string, message: WorkerMessage): void {
    const resource = String(message.resource);
    const token = asNumber(message.token);
    this.#held.set(name, this.held(name) + (message.refused === true ? -1 : 1));
    if (message.refused === true) {
      this.refused += 1;
      this.#accepted.set(`${resource} ${token}`, asNumber(message.accepted));
    } else this.#grants.push({ resource, holder: name, token });
    for (const wake of this.#wake.splice(0)) wake();
  }

  /** How many leases the holder believes it has: granted, and without a rejected write so far. */
  held(name: string): number {
    return this.#held.get(name) ?? 0;
  }

  async holds(name: string, count: number): Promise<void> {
    const soFar = this.#grants.length;
    const isReached = (): boolean => (count === 0 ? this.held(name) === 0 : this.#grants.slice(soFar).filter(({ holder }) => holder === name).length >= count);
    while (!isReached()) await new Promise<void>((resolve) => void this.#wake.push(resolve));
  }

  /** Compares the clients' answers with the log: the same tokens, and the same number of accepted writes. */
  compare(perLease: ReadonlyMap<string, readonly FencingEvent[]>): readonly Violation[] {
    const violations = new Violations("G7");
    for (const holder of this.neverRefused)
      violations.add("stale_holder_not_refused", `${holder} was replaced, and its writes were still not refused ${refusalWaitMs} ms after it continued.`);
    for (const { resource, holder, token } of this.#grants) {
      const events = perLease.get(resource) ?? [];
      if (!events.some((event) => event.what === "granted" && event.token === token && event.holder === holder))
        violations.add("other_token_received", `${holder} received token ${token} of ${resource}; the log does not have it.`);
      const accepted = this.#accepted.get(`${resource} ${token}`);
      const found = events.filter((event) => event.what === "write" && event.token === token).length;
      if (accepted !== undefined && accepted !== found)
        violations.add("writes_differ", `${holder} had ${accepted} accepted writes under token ${token} of ${resource}; the log has ${found}.`);
    }
    return violations.list();
  }
}

/** Converts the log of leases and the writes under them to the checker's events, by lease. */
export function fencingEvents(rows: readonly LogRow[]): { readonly perLease: ReadonlyMap<string, readonly FencingEvent[]>; readonly writes: number } {
  const perLease = new Map<string, FencingEvent[]>();
  const tokens = new Map<string, number>();
  let writes = 0;
  const add = (resource: string, event: FencingEvent): void => {
    const events = perLease.get(resource) ?? [];
    perLease.set(resource, events);
    events.push(event);
  };
  for (const row of rows) {
    const { revision, atMs } = row;
    if (row.key.startsWith(leaseKeys.deadlines.start)) {
      const resource = leaseKeys.resourceOf(row.key);
      const token = tokens.get(resource) ?? 0;
      if (row.op !== "put") add(resource, { revision, what: "ended", token });
      else if (token === revision)
        add(resource, { revision, what: "granted", holder: (row.value as { holder: string }).holder, token, atMs, expiresAtMs: row.expiresAtMs as number });
      else add(resource, { revision, what: "renewed", token, expiresAtMs: row.expiresAtMs as number });
    } else if (row.key.startsWith(leaseKeys.holders.start)) {
      // The holder is written before the deadline in the same commit, and its revision is the token.
      if (row.op === "put") tokens.set(leaseKeys.resourceOfHolder(row.key), revision);
    } else if (row.op === "put" && row.key.startsWith(guardedPrefix)) {
      const { by, token } = row.value as { by: string; token: number };
      writes += 1;
      add(row.key.slice(guardedPrefix.length), { revision, what: "write", by, token, atMs });
    }
  }
  return { perLease, writes };
}

const guardedPrefix = stateKeys.key("guarded/");
