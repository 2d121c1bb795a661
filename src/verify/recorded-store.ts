import { isHoldfastError } from "../kernel/errors.ts";
import type { Json } from "../kernel/json.ts";
import type { Commit, CommitResult, Store } from "../store/store.ts";
import type { WorkerMessage } from "./worker-process.ts";

/**
 * A store that reports every commit to the parent, before it is sent and after it is answered. The parent's journal thus has
 * everything, whatever the layers above do, and an audit needs to know nothing about leases or runs.
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
    // Every other error promises that nothing was changed, and the audit checks that promise.
    if (!isHoldfastError(error, "outcome_unknown")) onRefusal();
    throw error;
  }
}

const outcomeOf = (result: CommitResult): WorkerMessage => {
  if (!result.ok || result.replayed) return { refused: true };
  return { revision: result.revision, versions: result.writes.map((write): Json => write.version) };
};
