import { HoldfastError } from "../../../src/kernel/errors.ts";
import type { Store } from "../../../src/store/store.ts";
import { mortalStore } from "./mortal-store.ts";
import type { RoundFault } from "./round-fault.ts";

/** A proxy's store: its process can be killed with it, and one of its commits may fail, or be the moment of a kill, before or after it took effect. */
export function faultyStore(inner: Store, fault: RoundFault | undefined, onStrike: () => void): { readonly store: Store; readonly died: Promise<void>; die(): void } {
  const mortal = mortalStore();
  let resolveDied: () => void = () => {};
  const died = new Promise<void>((resolve) => {
    resolveDied = resolve;
  });
  const struckCommit = fault?.at === "begin" ? 1 : fault?.at === "finish" ? 2 : undefined;
  let commits = 0;
  const failing: Store = {
    ...inner,
    async commit(commit) {
      commits += 1;
      if (fault === undefined || commits !== struckCommit) return inner.commit(commit);
      const result = fault.isApplied ? await inner.commit(commit) : undefined;
      onStrike();
      if (fault.victim !== "store") return result ?? new Promise<never>(() => {});
      throw fault.isApplied ? new HoldfastError("outcome_unknown", "The answer of the store was lost.") : new HoldfastError("unavailable", "The store cannot be reached.");
    },
  };
  return {
    store: mortal.wrap(failing),
    died,
    die: () => {
      mortal.die();
      resolveDied();
    },
  };
}
