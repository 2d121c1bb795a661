import { stateKeys } from "../../domain/keyspace.ts";
import type { RunJob } from "../job.ts";
import { between } from "../random.ts";

/** A writer puts short-lived entries, each under its own key. A reader lists them as fast as it can. Both run until killed. */
export const expiryJob: RunJob = async ({ job, store, say, random, clock }) => {
  for (let count = 1; job.role === "writer"; count += 1) {
    const key = stateKeys.key(`fleeting/${job.name}/${count}`);
    const ttlMs = between(random, 1, 120);
    const result = await store.commit({ writes: [{ op: "put", key, value: count, ttlMs }], writer: job.name });
    if (result.ok) say({ key, ttlMs, revision: result.revision, atMs: result.atMs, expiresAtMs: result.writes[0]?.expiresAtMs ?? null });
    await clock.sleep(between(random, 0, 3));
  }
  for (;;) {
    const { entries, revision, nowMs } = await store.read(stateKeys.prefix("fleeting/"), { values: false });
    say({ revision, nowMs, keys: entries.map((entry) => entry.key) });
    await clock.sleep(1);
  }
};
