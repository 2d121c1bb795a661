import { isHoldfastError } from "../kernel/errors.ts";
import type { Json } from "../kernel/json.ts";
import type { Commit, CommitResult, Store } from "../store/store.ts";
import type { WorkerMessage } from "./worker-process.ts";

/**
 * A store that tells the parent about every commit, before it is sent and after it was answered. Whatever the layers above do,
 * the parent's journal has it: an audit needs to know nothing of leases or runs.
 */
export function recordedStore(store: Store, say: (message: WorkerMessage) => void): Store {
  let count = 0;
  return {
    ...store,
    async commit(commit) {
      count += 1;
      const sent = count;
      say({ sent, writes: commit.writes.map((write) => (write.op === "put" ? [write.key, write.value] : [write.key])) });
      const result = await answered(store, commit, () => say({ answered: sent, refused: true }));
      say({ answered: sent, ...outcomeOf(result) });
      return result;
    },
  };
}

async function answered(store: Store, commit: Commit, onRefusal: () => void): Promise<CommitResult> {
  try {
    return await store.commit(commit);
  } catch (error) {
    // Every other failure promises that nothing was changed; the audit holds the store to that.
    if (!isHoldfastError(error, "outcome_unknown")) onRefusal();
    throw error;
  }
}

const outcomeOf = (result: CommitResult): WorkerMessage => {
  if (!result.ok || result.replayed) return { refused: true };
  return { revision: result.revision, versions: result.writes.map((write): Json => write.version) };
};
