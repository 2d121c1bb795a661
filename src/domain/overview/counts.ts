import type { Range } from "../../store/store.ts";
import { journalKeys, knowledgeKeys, leaseKeys, researchKeys, stateKeys, workflowKeys } from "../keyspace.ts";

/** How many entries of each kind the namespace has. */
export interface Counts {
  readonly keys: number;
  readonly runs: number;
  /** Runs with a live claim. */
  readonly runsHeld: number;
  /** Unfinished runs without a holder: never claimed, returned, or abandoned by a lapsed claim. */
  readonly runsWaiting: number;
  /** Held leases, including claims. */
  readonly leases: number;
  /** Waiters in lease queues. */
  readonly waiting: number;
  readonly journal: number;
  readonly notes: number;
  readonly research: number;
}

/** `count` returns the number of live entries in a range. */
export async function readCounts(count: (range: Range) => Promise<number>): Promise<Counts> {
  const ranges = [
    stateKeys.all,
    workflowKeys.runs,
    leaseKeys.claimDeadlines,
    leaseKeys.claimHolders,
    workflowKeys.ready.range,
    leaseKeys.deadlines,
    leaseKeys.queues,
    journalKeys.entries,
    knowledgeKeys.all,
    researchKeys.all,
  ] as const;
  const [keys = 0, runs = 0, runsHeld = 0, claimed = 0, ready = 0, leases = 0, waiting = 0, journal = 0, notes = 0, research = 0] = await Promise.all(ranges.map(count));
  // A lapsed claim has a holder but no deadline. The counts are taken at different moments, so a claim made in between must not make the result negative.
  const lapsed = Math.max(0, claimed - runsHeld);
  return { keys, runs, runsHeld, runsWaiting: ready + lapsed, leases, waiting, journal, notes, research };
}
