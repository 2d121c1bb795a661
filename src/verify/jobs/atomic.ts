import { stateKeys } from "../../domain/keyspace.ts";
import { commitState } from "../../domain/state/state.ts";
import { keyRange } from "../../store/ranges.ts";
import type { RunJob } from "../job.ts";

export const atomicMembers: readonly string[] = Array.from({ length: 8 }, (_, i) => `member/${i + 1}`);

/** A writer repeatedly sets all members to one new value. A reader reads them and reports what it saw whenever the revision has changed. Both run until killed. */
export const atomicJob: RunJob = async ({ job, scope, store, say, clock }) => {
  for (let count = 1; job.role === "writer"; count += 1) {
    await commitState(scope, { writes: atomicMembers.map((key) => ({ op: "set", key, value: `${job.name}-${count}` })), expected: [], guards: [] });
    say({ committed: count });
  }
  for (let seen = -1; ; ) {
    const { entries, revision } = await store.read(atomicMembers.map((key) => keyRange(stateKeys.key(key))));
    if (revision === seen) await clock.sleep(1);
    else say({ revision, values: Object.fromEntries(entries.map((entry) => [stateKeys.nameOf(entry.key), entry.value])) });
    seen = revision;
  }
};
