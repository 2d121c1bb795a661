import { isHoldfastError } from "../kernel/errors.ts";
import type { Span } from "../kernel/span.ts";
import type { CommitResult, Store } from "../store/store.ts";

/** The same store, with each commit as a child span from submission to the durable result. Spans record how much was written, never its content. */
export function tracedStore(store: Store, span: Span): Store {
  return {
    ...store,
    async commit(commit) {
      const part = span.child("commit", { "holdfast.commit.writes": commit.writes.length, "holdfast.commit.checks": commit.checks?.length ?? 0 });
      try {
        const result = await store.commit(commit);
        part.set({ "holdfast.commit.outcome": outcomeOf(result), "holdfast.revision": result.revision });
        return result;
      } catch (error) {
        part.fail(isHoldfastError(error) ? error.code : "internal");
        throw error;
      } finally {
        part.end();
      }
    },
  };
}

function outcomeOf(result: CommitResult): string {
  if (!result.ok) return result.reason === "checks" ? "conflict" : result.reason;
  return result.replayed ? "replayed" : "committed";
}
