import { everything } from "../../store/ranges.ts";
import type { CommitResult, Put } from "../../store/store.ts";
import type { RunJob } from "../job.ts";

/** Revisions made before the log is read: enough for a log that loses revisions occasionally to lose one of these. */
const revisions = 90;
/** Commits before the kill: enough for an engine that acknowledges some commits too early to lose one of these. */
const lastCommits = 6;
export const groupKeys = ["group/a", "group/b", "group/c", "group/d"] as const;
export const lastKey = "last";
const ttlMs = 3_600_000;

/** Tests each guarantee once, in order and without other processes, and reports the store's answers. It kills itself the moment its last commits are acknowledged. */
export const oneByOneJob: RunJob = async ({ job, store, say }) => {
  const put = (key: string, value: string | number, more: Partial<Put> = {}): Promise<CommitResult> =>
    store.commit({ writer: job.name, writes: [{ op: "put", key, value, ...more }] });
  const versionOf = (result: CommitResult): number => (result.ok ? (result.writes[0]?.version ?? 0) : 0);

  const versions: number[] = [];
  for (let life = 0; life < 4; life += 1) {
    versions.push(versionOf(await put("again", life)), versionOf(await put("again", `${life} more`)));
    await store.commit({ writer: job.name, writes: [{ op: "delete", key: "again" }] });
  }
  say({ step: "versions", versions });

  await put("checked", 1);
  const stale = await store.commit({ writer: job.name, checks: [{ key: "checked", version: 0 }], writes: [{ op: "put", key: "checked", value: 2 }] });
  say({ step: "stale", ok: stale.ok });

  await store.commit({ writer: job.name, writes: groupKeys.map((key) => ({ op: "put", key, value: 1 })) });

  const brief = await put("brief", 1, { ttlMs });
  say({ step: "expiry", livesMs: brief.ok ? (brief.writes[0]?.expiresAtMs ?? 0) - brief.atMs : 0, ttlMs });

  const request = { key: `${job.name}-request`, fingerprint: "same", note: null };
  const answers: number[] = [];
  for (let time = 0; time < 2; time += 1) answers.push((await store.commit({ writer: job.name, writes: [{ op: "put", key: "requested", value: 1 }], request })).revision);
  say({ step: "request", answers });

  for (let n = 0; n < revisions; n += 1) await put("filler", n);
  say({ step: "log", missing: await missingRevisions(store) });

  const acknowledged: number[] = [];
  for (let n = 0; n < lastCommits; n += 1) acknowledged.push((await put(lastKey, n)).revision);
  say({ step: "last", acknowledged });
  process.kill(process.pid, "SIGKILL");
};

async function missingRevisions(store: Parameters<RunJob>[0]["store"]): Promise<number[]> {
  const missing: number[] = [];
  let expected = 1;
  for (let after = 0; ; ) {
    const { rows, through, done } = await store.log({ ranges: [everything], after, values: false });
    for (const { revision } of rows) {
      for (; expected < revision; expected += 1) missing.push(expected);
      expected = revision + 1;
    }
    if (done) return missing;
    after = through;
  }
}
