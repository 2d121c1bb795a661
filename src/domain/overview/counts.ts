import type { Scope } from "../../store/transact.ts";
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

export async function readCounts({ store }: Pick<Scope, "store">): Promise<Counts> {
  const [keys, runs, leases, waiting, journal, notes, research] = await Promise.all(
    [stateKeys.all, workflowKeys.runs, leaseKeys.deadlines, leaseKeys.queues, journalKeys.entries, knowledgeKeys.all, researchKeys.all].map((range) => store.count(range)),
  );
  return { keys, runs, leases, waiting, journal, notes, research } as Counts;
}
