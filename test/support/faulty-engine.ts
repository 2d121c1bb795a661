import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import { keyRange } from "../../src/store/ranges.ts";
import type { CommitResult, Engine, PreparedCommit } from "../../src/store/store.ts";

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
  /** The first holder of a lease stops, as by SIGSTOP from outside, before its first write under it, of which the checks are dropped. */
  stoppedHolder: (engine: Engine): Engine => stoppingBefore(engine, (commit) => commit.writer === "lease-1" && commit.writes.some(({ key }) => key.includes("guarded/")), 1),
  /** Forgets request keys: a retry is a new request. */
  forgottenRequestKeys: (engine: Engine): Engine =>
    override(
      onCommits(engine, ({ request: _, ...commit }) => commit),
      { readRequest: async () => undefined },
    ),
  /** Commits the second half of a large commit by itself. */
  tornCommits: (engine: Engine): Engine =>
    override(engine, {
      async commit(namespace, batch) {
        const results: CommitResult[] = [];
        for (const commit of batch) {
          const middle = Math.ceil(commit.writes.length / 2);
          const [first] = await engine.commit(namespace, [{ ...commit, writes: commit.writes.slice(0, middle) }]);
          if (first?.ok !== true || middle === commit.writes.length) {
            results.push(first as CommitResult);
            continue;
          }
          const [second] = await engine.commit(namespace, [{ ...commit, checks: [], request: undefined, writes: commit.writes.slice(middle) }]);
          results.push(second?.ok === true ? { ...second, writes: [...first.writes, ...second.writes] } : first);
        }
        return results;
      },
    }),
  /** Loses the second half of a large commit. */
  halfCommits: (engine: Engine): Engine => onCommits(engine, (commit) => ({ ...commit, writes: commit.writes.slice(0, Math.ceil(commit.writes.length / 2)) })),
  /** Every fifth revision is missing from the log. */
  lostLogRecords: (engine: Engine): Engine =>
    override(engine, {
      log: async (namespace, query) => {
        const page = await engine.log(namespace, query);
        return { ...page, rows: page.rows.filter((row) => row.revision % 5 !== 0) };
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
  /** Now and then a read does not come back. */
  endlessReads: (engine: Engine): Engine => everySoOften(engine, () => new Promise(() => {})),
  /** Now and then a read takes far longer than it may. */
  lateReads: (engine: Engine): Engine => everySoOften(engine, () => new Promise((resolve) => setTimeout(resolve, 2_500))),
} as const satisfies Record<string, (engine: Engine) => Engine>;

export type Fault = keyof typeof faults;

const onCommits = (engine: Engine, change: (commit: PreparedCommit) => PreparedCommit): Engine =>
  override(engine, { commit: (namespace, batch) => engine.commit(namespace, batch.map(change)) });

/** Stops this process right before the commit of that kind whose turn it is, and drops the checks of that one. */
function stoppingBefore(engine: Engine, isMeant: (commit: PreparedCommit) => boolean, turn: number): Engine {
  let met = 0;
  return override(engine, {
    commit(namespace, batch) {
      if (batch.some(isMeant)) met += 1;
      if (met !== turn || !batch.some(isMeant)) return engine.commit(namespace, batch);
      process.kill(process.pid, "SIGSTOP");
      return engine.commit(
        namespace,
        batch.map((commit) => ({ ...commit, checks: [] })),
      );
    },
  });
}

/** Drops checks; before a commit of such a key it waits for as many processes as its third argument says, in the folder that its fourth one names. */
function meetingAt(engine: Engine, word: string): Engine {
  const [, , , count = "1", folder = ""] = process.argv;
  let round = 0;
  return override(engine, {
    async commit(namespace, batch) {
      if (batch.some(({ checks, writes }) => checks.length > 0 && writes.some(({ key }) => key.includes(word)))) {
        round += 1;
        const place = join(folder, String(round));
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

function everySoOften(engine: Engine, wait: () => Promise<void>): Engine {
  let reads = 0;
  return override(engine, {
    async read(namespace, ranges, options) {
      reads += 1;
      if (reads % 20 === 0) await wait();
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
