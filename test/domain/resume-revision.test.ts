import { describe, expect, test } from "vitest";
import { readResume } from "../../src/domain/resume/resume.ts";
import { claimRun } from "../../src/domain/workflows/claims.ts";
import { createRun } from "../../src/domain/workflows/workflows.ts";
import type { Workspace } from "../../src/domain/workspace/workspace.ts";
import type { ReadOptions, Store } from "../../src/store/store.ts";
import { openScope } from "../support/scope.ts";

const workspace: Workspace = { id: "ws-0000000000000001", name: "engine", formerIds: [] };

/** A store in which something happens before the read with this number, counted from 1. */
function interrupted(store: Store, before: number, happens: () => Promise<unknown>): Store {
  let reads = 0;
  return {
    ...store,
    async read(ranges, options?: ReadOptions) {
      reads += 1;
      if (reads === before) await happens();
      return store.read(ranges, options);
    },
  };
}

describe("a resume is of one revision", () => {
  // A claim moves the run from the list of those that wait to the list of those in hand: read at two revisions, it would be in both or in neither.
  test.each(Array.from({ length: 12 }, (_, i) => i + 1))("a claim that lands before read %d is seen whole or not at all", async (before) => {
    const scope = openScope();
    await createRun(scope, { name: "release", runId: "wf-1" });
    const store = interrupted(scope.store, before, () => claimRun(scope, { runId: "wf-1", agentId: "other", ttlMs: 60_000 }));
    const { text, revision } = await readResume({ store }, { workspace, agent: "me", tokensMax: 1_500 });
    const isFree = text.includes("→ workflow_claim wf-1");
    const isTaken = text.includes('Others at work: other on "release"');
    expect([isFree, isTaken]).toEqual(revision === 1 ? [true, false] : [false, true]);
  });
});
