import type { Range } from "../../store/store.ts";
import { journalKeys, knowledgeKeys, leaseKeys, researchKeys, stateKeys, workflowKeys } from "../keyspace.ts";

/** How much of everything there is. */
export interface Counts {
  readonly keys: number;
  readonly runs: number;
  /** Runs that an agent holds now. */
  readonly runsHeld: number;
  /** Unfinished runs that nobody holds: never claimed, returned, or left behind by a lapsed claim. */
  readonly runsWaiting: number;
  /** Held now, claims among them. */
  readonly leases: number;
  /** Who waits in some line. */
  readonly waiting: number;
  readonly journal: number;
  readonly notes: number;
  readonly research: number;
}

/** `count`: how many live entries are in a range. */
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
  // A lapsed claim keeps its holder and has no deadline. The counts are of different moments: a claim made in between must not count below zero.
  const lapsed = Math.max(0, claimed - runsHeld);
  return { keys, runs, runsHeld, runsWaiting: ready + lapsed, leases, waiting, journal, notes, research };
}
