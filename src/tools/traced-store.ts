import { isHoldfastError } from "../kernel/errors.ts";
import type { Span } from "../kernel/span.ts";
import type { CommitResult, Store } from "../store/store.ts";

/** The same store, whose commits are parts of a span: from handing in to the durable answer. How much was written is told, and nothing of what. */
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
