import type { Range } from "../../store/store.ts";
import { journalKeys, knowledgeKeys, leaseKeys, researchKeys, stateKeys, workflowKeys } from "../keyspace.ts";

/** How much of everything there is. */
export interface Counts {
  readonly keys: number;
  readonly runs: number;
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
  const ranges = [stateKeys.all, workflowKeys.runs, leaseKeys.deadlines, leaseKeys.queues, journalKeys.entries, knowledgeKeys.all, researchKeys.all];
  const [keys, runs, leases, waiting, journal, notes, research] = await Promise.all(ranges.map(count));
  return { keys, runs, leases, waiting, journal, notes, research } as Counts;
}
