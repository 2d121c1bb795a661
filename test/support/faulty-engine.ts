import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { leaseKeys, workflowKeys } from "../../src/domain/keyspace.ts";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import { keyRange } from "../../src/store/ranges.ts";
import type { CommitResult, Engine, PreparedCommit } from "../../src/store/store.ts";
import { PaceSampler } from "./pace.ts";

/**
 * Engines with a planted fault, each of a kind that a real engine could have. A checker counts only when it has been seen to catch one of these.
 */
export const faults = {
  /** Answers as if it had committed, and never comes to it every third time: as one that commits after the answer and is killed in between. */
  answerBeforeCommit: (engine: Engine): Engine => {
    let batches = 0;
    return override(engine, {
      async commit(namespace, batch) {
        batches += 1;
        if (batches % 3 !== 0) return engine.commit(namespace, batch);
        const keys = batch.flatMap((commit) => commit.writes.map((write) => keyRange(write.key)));
        const { revision, nowMs, entries } = await engine.read(namespace, keys, { limit: keys.length + 1 });
        return batch.map(
          (commit, i): CommitResult => ({
            ok: true,
            revision: revision + 1 + i,
            atMs: nowMs,
            replayed: false,
            note: commit.request?.note,
            writes: commit.writes.map((write) => {
              const before = entries.find((entry) => entry.key === write.key);
              if (write.op === "delete") return { version: before?.version ?? 0, existed: before !== undefined };
              return { version: (before?.version ?? 0) + 1, existed: before !== undefined, expiresAtMs: write.ttlMs && nowMs + write.ttlMs };
            }),
          }),
        );
      },
    });
  },
  /** Takes every commit, whatever it was to check. */
  droppedChecks: (engine: Engine): Engine => onCommits(engine, (commit) => ({ ...commit, checks: [] })),
  /** The same, and each commit of the shared counter waits until as many processes have come to theirs as there are: all of them have read the same. */
  metCounters: (engine: Engine): Engine => meetingAt(engine, "counter"),
  /** The same for claims of a run. */
  metClaims: (engine: Engine): Engine => meetingAt(engine, "lease/holder/"),
  /** Drops the checks of those commits only that a whole run of verify is sure to see overtaken: of counters and of claims that meet, and of a holder that is replaced. */
  overtaken: (engine: Engine): Engine => replacedUnderLeases(meetingAt(meetingAt(engine, "counter", "increment-"), "lease/holder/", "claim-"), leasesOfHolder),
  /** The first holder of a lease makes its first write under it only when it was replaced, and without checks. */
  replacedHolder: (engine: Engine): Engine => replacedUnderLeases(engine, 1),
  /** The third worker of a hand-over, which its parent stops when it has sent its second step, commits that step only when it was replaced, and without checks. */
  replacedWorker: (engine: Engine): Engine => replacedAtStep(engine, "steps-3", 2),
  /** Forgets request keys: a retry is a new request. */
  forgottenRequestKeys: (engine: Engine): Engine =>
    override(
      onCommits(engine, ({ request: _, ...commit }) => commit),
      { readRequest: async () => undefined },
    ),
  /** Commits the second half of a large commit by itself. */
  tornCommits: (engine: Engine): Engine => tearing(engine, async () => {}),
  /** The same, and the second half waits until another process has read what there was in between. */
  seenHalves: (engine: Engine): Engine => seenInBetween(engine),
  /** Loses the second half of a large commit. */
  halfCommits: (engine: Engine): Engine => onCommits(engine, (commit) => ({ ...commit, writes: commit.writes.slice(0, Math.ceil(commit.writes.length / 2)) })),
  /** Every fifth revision is missing from the log, but for the end of a load, for which everybody waits. */
  lostLogRecords: (engine: Engine): Engine =>
    override(engine, {
      log: async (namespace, query) => {
        const page = await engine.log(namespace, query);
        return { ...page, rows: page.rows.filter((row) => row.revision % 5 !== 0 || row.writer === endWriter) };
      },
    }),
  /** Entries end a few milliseconds before their time. */
  shortLives: (engine: Engine): Engine =>
    onCommits(engine, (commit) => ({
      ...commit,
      writes: commit.writes.map((write) => (write.op === "put" && write.ttlMs !== undefined && write.ttlMs > 3 ? { ...write, ttlMs: write.ttlMs - 3 } : write)),
    })),
  /** A key that was deleted begins with version 1 again. */
  restartedVersions: (engine: Engine): Engine => {
    const offsets = new Map<string, number>();
    return override(engine, {
      commit: async (namespace, batch) =>
        (await engine.commit(namespace, batch)).map((result, i) => {
          if (!result.ok) return result;
          const writes = result.writes.map((outcome, j) => {
            const write = batch[i]?.writes[j];
            if (write === undefined) return outcome;
            if (write.op === "put" && !outcome.existed) offsets.set(write.key, outcome.version - 1);
            return { ...outcome, version: Math.max(0, outcome.version - (offsets.get(write.key) ?? 0)) };
          });
          return { ...result, writes };
        }),
    });
  },
  /** Sends a batch again whose answer was lost, as a driver does that means well: what had happened happens twice. */
  resentCommits: (engine: Engine): Engine =>
    override(engine, {
      async commit(namespace, batch) {
        for (;;) {
          try {
            return await engine.commit(namespace, batch);
          } catch (error) {
            if (!isHoldfastError(error, "outcome_unknown")) throw error;
          }
        }
      },
    }),
  /** One read of each process does not come back. */
  endlessReads: (engine: Engine): Engine => beforeFaultyRead(engine, () => new Promise(() => {})),
  /** One read of each process takes far longer than it may, by whatever pace its machine has. */
  lateReads: (engine: Engine): Engine => beforeFaultyRead(engine, waitTooLong),
} as const satisfies Record<string, (engine: Engine) => Engine>;

export type Fault = keyof typeof faults;

const onCommits = (engine: Engine, change: (commit: PreparedCommit) => PreparedCommit): Engine =>
  override(engine, { commit: (namespace, batch) => engine.commit(namespace, batch.map(change)) });

/** `between`: after the first half, with its revision. */
function tearing(engine: Engine, between: (revision: number) => Promise<void>): Engine {
  return override(engine, {
    async commit(namespace, batch) {
      const results: CommitResult[] = [];
      for (const commit of batch) {
        const middle = Math.ceil(commit.writes.length / 2);
        const [first] = await engine.commit(namespace, [{ ...commit, writes: commit.writes.slice(0, middle) }]);
        if (first?.ok !== true || middle === commit.writes.length) {
          results.push(first as CommitResult);
          continue;
        }
        await between(first.revision);
        const [second] = await engine.commit(namespace, [{ ...commit, checks: [], request: undefined, writes: commit.writes.slice(middle) }]);
        results.push(second?.ok === true ? { ...second, writes: [...first.writes, ...second.writes] } : first);
      }
      return results;
    },
  });
}

/** Each process notes the revision of its last read in the folder that its fourth argument names. */
function seenInBetween(engine: Engine): Engine {
  const folder = process.argv[4] ?? "";
  const own = String(process.pid);
  const isSeen = (revision: number): boolean => readdirSync(folder).some((pid) => pid !== own && Number(readFileSync(join(folder, pid), "utf8")) >= revision);
  const torn = tearing(engine, async (revision) => {
    while (!isSeen(revision)) await new Promise((resolve) => setTimeout(resolve, 1));
  });
  return override(torn, {
    async read(namespace, ranges, options) {
      const snapshot = await engine.read(namespace, ranges, options);
      writeFileSync(join(folder, own), String(snapshot.revision));
      return snapshot;
    },
  });
}

/**
 * Drops the checks of these writers; before a commit of such a key it waits for as many processes as its third argument says, in the folder that its
 * fourth one names.
 */
function meetingAt(engine: Engine, word: string, writers = ""): Engine {
  const [, , , count = "1", folder = ""] = process.argv;
  let round = 0;
  return override(engine, {
    async commit(namespace, batch) {
      if (!batch.some(({ writer }) => writer.startsWith(writers))) return engine.commit(namespace, batch);
      if (batch.some(({ checks, writes }) => checks.length > 0 && writes.some(({ key }) => key.includes(word)))) {
        round += 1;
        const place = join(folder, word, String(round));
        mkdirSync(place, { recursive: true });
        writeFileSync(join(place, String(process.pid)), "");
        while (readdirSync(place).length < Number(count)) await new Promise((resolve) => setTimeout(resolve, 1));
      }
      return engine.commit(
        namespace,
        batch.map((commit) => ({ ...commit, checks: [] })),
      );
    },
  });
}

/** As many leases as one holder of verify has. */
const leasesOfHolder = 10;

/** When the first holder has so many leases, its next writes under them wait until another holds these, and go without their checks. */
function replacedUnderLeases(engine: Engine, leases: number): Engine {
  const taken = new Set<string>();
  let isOver = false;
  const resourceOf = ({ writer, writes }: PreparedCommit): string | undefined => (writer === "lease-1" ? /guarded\/(.*)/.exec(writes[0]?.key ?? "")?.[1] : undefined);
  return override(engine, {
    async commit(namespace, batch) {
      const meant = batch.map(resourceOf).filter((resource) => resource !== undefined);
      if (meant.length === 0 || taken.size < leases || isOver) {
        for (const { writer, writes } of batch) for (const { key } of writes) if (writer === "lease-1" && key.startsWith("lease/holder/")) taken.add(key);
        return engine.commit(namespace, batch);
      }
      isOver = true;
      for (const resource of meant) await untilReplaced(engine, namespace, resource, "lease-1");
      return engine.commit(
        namespace,
        batch.map((commit) => ({ ...commit, checks: [] })),
      );
    },
  });
}

/** Where this worker commits its nth step, it waits until another has its run, and commits without checks. */
function replacedAtStep(engine: Engine, worker: string, turn: number): Engine {
  const steps = new Set<string>();
  return override(engine, {
    async commit(namespace, batch) {
      const [commit] = batch;
      const run = /^workflow\/step\/([^/]+)\//.exec(commit?.writes.find(({ key }) => key.startsWith("workflow/step/"))?.key ?? "")?.[1];
      if (commit?.writer !== worker || run === undefined) return engine.commit(namespace, batch);
      for (const { key } of commit.writes) if (key.startsWith("workflow/step/")) steps.add(key);
      if (steps.size !== turn) return engine.commit(namespace, batch);
      await untilReplaced(engine, namespace, workflowKeys.resource(run), worker);
      return engine.commit(namespace, [{ ...commit, checks: [] }, ...batch.slice(1)]);
    },
  });
}

async function untilReplaced(engine: Engine, namespace: string, resource: string, holder: string): Promise<void> {
  const isReplaced = async (): Promise<boolean> =>
    (await engine.read(namespace, [keyRange(leaseKeys.holder(resource))], { limit: 1 })).entries.some(({ writer }) => writer !== holder);
  while (!(await isReplaced())) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Writes the last commit of a load. */
export const endWriter = "the end";

/** Which read of present values it is, in each process, that is endless or late. Reads of another kind are not made by a caller, or are told as another kind of call. */
export const faultyRead = 20;
export const lateMs = 3_000;

async function waitTooLong(): Promise<void> {
  using sampler = new PaceSampler();
  for (const fromMs = performance.now(); performance.now() - fromMs < lateMs * sampler.since(fromMs); ) await new Promise((resolve) => setTimeout(resolve, 50));
}

function beforeFaultyRead(engine: Engine, wait: () => Promise<void>): Engine {
  let reads = 0;
  return override(engine, {
    async read(namespace, ranges, options) {
      if (options.at === undefined && options.values !== false) {
        reads += 1;
        if (reads === faultyRead) await wait();
      }
      return engine.read(namespace, ranges, options);
    },
  });
}

/** The engine with some of its operations replaced; the others keep their own `this`. */
export function override(engine: Engine, replaced: Partial<Engine>): Engine {
  return new Proxy(engine, {
    get(target, name) {
      if (Object.hasOwn(replaced, name)) return replaced[name as keyof Engine];
      const member = Reflect.get(target, name, target) as unknown;
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
