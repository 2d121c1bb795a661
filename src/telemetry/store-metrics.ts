import { leaseKeys, workflowKeys } from "../domain/keyspace.ts";
import { isHoldfastError } from "../kernel/errors.ts";
import type { Meter } from "../kernel/meter.ts";
import { secondsBounds } from "../kernel/meter.ts";
import type { CommitResult, PreparedCommit } from "../store/store.ts";
import type { StoreObserver } from "../store/store-observer.ts";

const batchBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** Calls of the store interface, across all namespaces. */
export function openStoreMetrics(meter: Meter): StoreObserver {
  const commits = meter.counter("holdfast_commits_total", "Commits by outcome: committed, conflict (a check failed), replayed (a known request key) or an error code.", [
    "outcome",
  ]);
  const committed = commits.of("committed");
  const conflicts = commits.of("conflict");
  const seconds = meter.histogram("holdfast_commit_seconds", "Time from submitting a commit to its durable answer, including the wait for its batch.", secondsBounds).of();
  const batchSeconds = meter.histogram("holdfast_commit_batch_seconds", "Duration of one batch of commits in the engine.", secondsBounds).of();
  const batchSizes = meter.histogram("holdfast_commit_batch_size", "Commits per durable batch.", batchBounds).of();
  const queue = meter.level("holdfast_commits_queued", "Commits currently waiting for a batch.").of();
  const watchers = meter.level("holdfast_watchers", "Open watches of the store.").of();
  const changes = meter.counter("holdfast_changes_total", "Changes recorded in history, by kind and operation: lease acquire, workflow claim, state set and so on.", [
    "kind",
    "op",
  ]);
  const takeovers = meter.counter("holdfast_takeovers_total", "Leases and claims acquired after the previous holder's had expired.", ["kind"]);
  for (const kind of ["lease", "workflow"]) takeovers.of(kind);

  const note = ({ writes }: PreparedCommit, result: CommitResult & { ok: true }): void => {
    for (let i = 0; i < writes.length; i += 1) {
      const write = writes[i] as PreparedCommit["writes"][number];
      const { record } = write;
      const existed = result.writes[i]?.existed === true;
      // Deleting an absent key is not a change.
      if (record !== undefined && (write.op === "put" || existed)) changes.of(record.kind, record.op).add();
      // A holder's key survives a lapse but not a release, so replacing one is a takeover.
      if (existed && write.op === "put" && write.key.startsWith(leaseKeys.holders.start))
        takeovers.of(workflowKeys.runOfResource(leaseKeys.resourceOfHolder(write.key)) === undefined ? "lease" : "workflow").add();
    }
  };

  return {
    nowMs: () => meter.nowMs(),
    queued: (change) => queue.add(change),
    watching: (change) => watchers.add(change),
    batchEnded(beganMs, count) {
      batchSeconds.record((meter.nowMs() - beganMs) / 1_000);
      batchSizes.record(count);
    },
    answered(queuedMs, commit, result, error) {
      seconds.record((meter.nowMs() - queuedMs) / 1_000);
      if (result === undefined) commits.of(isHoldfastError(error) ? error.code : "internal").add();
      else if (!result.ok) (result.reason === "checks" ? conflicts : commits.of(result.reason)).add();
      else if (result.replayed) commits.of("replayed").add();
      else {
        committed.add();
        note(commit, result);
      }
    },
  };
}
