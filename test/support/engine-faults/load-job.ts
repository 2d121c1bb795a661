import { stateKeys } from "../../../src/domain/keyspace.ts";
import { acquireLease, releaseLease } from "../../../src/domain/leases/leases.ts";
import { commitState, deleteState, readState, setState } from "../../../src/domain/state/state.ts";
import type { Clock } from "../../../src/kernel/clock.ts";
import { isHoldfastError } from "../../../src/kernel/errors.ts";
import type { Json } from "../../../src/kernel/json.ts";
import { fingerprint } from "../../../src/kernel/json.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import { everything, keyRange } from "../../../src/store/ranges.ts";
import type { Engine, Revision, Store } from "../../../src/store/store.ts";
import type { Scope } from "../../../src/store/transact.ts";
import type { JobContext, RunJob } from "../../../src/verify/job.ts";
import type { Random } from "../../../src/verify/random.ts";
import { between } from "../../../src/verify/random.ts";
import { recordedStore } from "../../../src/verify/recorded-store.ts";
import type { WorkerMessage } from "../../../src/verify/worker-process.ts";
import { PaceSampler } from "../pace.ts";
import { CallRecorder } from "./recorded-calls.ts";

export const counters = ["counter/1", "counter/2"] as const;
export const groupMembers = ["group/a", "group/b", "group/c", "group/d"] as const;
const sharedKeys = 12;
const leaseMs = 60;
const lifeChanges = { min: 30, max: 300 } as const;
/** Between two calls of one loop that were answered, and after one that the engine could not answer. */
const breathMs = { min: 1, max: 6 } as const;
const lookMs = 50;
const afterFailureMs = { min: 10, max: 50 } as const;

/** One namespace as a worker uses it. `say` names the namespace in everything. */
interface Place {
  readonly engine: Engine;
  readonly namespace: string;
  /** Not recorded: for watching. */
  readonly bare: Store;
  readonly scope: Scope;
  readonly calls: CallRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly sampler: PaceSampler;
  readonly say: (message: WorkerMessage) => void;
  readonly unique: () => string;
  /** From then on nobody asks again what became of something. */
  readonly givenUp: AbortSignal;
}

/**
 * Works in every namespace of the job, through every failure of the engine, until it is told to stop: plain writes, increments by compare-and-set under request keys,
 * commits of several keys, leases, reads, and a watcher that resumes. The first command ends the writing, the second one the watching.
 */
export const loadJob =
  (engine: () => Engine): RunJob =>
  async ({ job, clock, random, say, commands }: JobContext) => {
    using sampler = new PaceSampler();
    const writing = new AbortController();
    const asking = new AbortController();
    const watching = new AbortController();
    const places = (job.namespaces as readonly string[]).map((namespace) =>
      openPlace({ engine: engine(), namespace, name: job.name, clock, random, say, sampler, givenUp: asking.signal }),
    );
    const lanes = places.flatMap((place) => writers.map((lane) => repeat(place, lane, writing.signal)));
    const watchers = places.map((place) => watch(place, watching.signal));
    const place = { clock, sampler };
    for await (const { askMs, patienceMs } of commands) {
      if (writing.signal.aborted) break;
      writing.abort();
      await within(place, lanes, Number(askMs));
      // No more questions; a call that never ends must not keep its worker from saying so: what did not come back is what the parent has not heard the end of.
      asking.abort();
      await within(place, lanes, Number(patienceMs));
      say({ quiet: true });
    }
    watching.abort();
    await within(place, watchers, 1_000);
  };

/** Until all have ended, or for so long as that takes on a quiet machine, and longer on a slower one. */
async function within({ clock, sampler }: Pick<Place, "clock" | "sampler">, all: readonly Promise<void>[], ms: number): Promise<void> {
  let isOver = false;
  const over = Promise.all(all).then(() => {
    isOver = true;
  });
  for (const fromMs = performance.now(); !isOver && performance.now() - fromMs < ms * sampler.since(fromMs); ) await Promise.race([over, clock.sleep(lookMs)]);
}

function openPlace({ engine, namespace, name, clock, random, say, sampler, givenUp }: Omit<Place, "bare" | "scope" | "calls" | "unique"> & { readonly name: string }): Place {
  const bare = openNamespaceStore(engine, namespace, clock);
  const here = (message: WorkerMessage): void => say({ ...message, namespace });
  const calls = new CallRecorder(here, sampler);
  let made = 0;
  return {
    engine,
    namespace,
    bare,
    calls,
    clock,
    random,
    sampler,
    givenUp,
    say: here,
    scope: { store: calls.store(recordedStore(bare, here)), clock, writer: name },
    unique: () => {
      made += 1;
      return `${name}-${made}`;
    },
  };
}

type LoadLoop = (place: Place) => Promise<void>;

/** Values of uneven size: most are small, some need several pages. */
const payload = ({ unique, random }: Place): string => `${unique()} ${"x".repeat(random() < 0.05 ? between(random, 2_000, 9_000) : between(random, 0, 60))}`;

const plainWrite: LoadLoop = async (place) => {
  const { scope, random } = place;
  const key = `shared/${between(random, 1, sharedKeys)}`;
  if (random() < 0.1) await deleteState(scope, { key });
  else await setState(scope, { key, value: payload(place), ttlMs: random() < 0.1 ? between(random, 20, 200) : undefined });
};

const group: LoadLoop = async (place) => {
  const value = payload(place);
  await commitState(place.scope, { writes: groupMembers.map((key) => ({ op: "set", key, value })), expected: [], guards: [] });
};

const lease: LoadLoop = async ({ scope, random, say, unique }) => {
  const held = { resource: `lease-${between(random, 1, 2)}`, holder: unique() };
  const taken = await acquireLease(scope, { ...held, ttlMs: leaseMs });
  if (!taken.ok) return;
  say({ token: taken.token, resource: held.resource });
  if (random() < 0.8) await releaseLease(scope, { ...held, token: taken.token });
};

/** Looks at the group, which must be whole, and now and then at what else can be asked. */
const look: LoadLoop = async ({ scope, random, say, calls, engine, namespace }) => {
  const { entries, revision } = await scope.store.read(groupMembers.map((key) => keyRange(stateKeys.key(key))));
  say({ seen: revision, values: Object.fromEntries(entries.map((entry) => [stateKeys.nameOf(entry.key), entry.value])) });
  const chance = random();
  if (chance < 0.1) await scope.store.count(everything);
  else if (chance < 0.2) await scope.store.log({ ranges: [everything], after: Math.max(0, revision - 5), values: false, lenient: true });
  else if (chance < 0.25) await calls.health(engine, namespace);
};

/** Whatever it was told, the truth is found out by asking again under the same request key, and then once more now and then. */
const increment: LoadLoop = async (place) => {
  const { scope, random, say, unique } = place;
  const key = counters[between(random, 0, counters.length - 1)] as string;
  const before = await readState(scope, key);
  const by = unique();
  const count = Number((before?.value as { count?: number } | undefined)?.count ?? 0) + 1;
  const request = { key: by, fingerprint: fingerprint(by) };
  const store = tellingUnknown(scope.store, () => say({ request: by, unknown: true }));
  const ask = (): Promise<Json> => setState({ ...scope, store, request }, { key, value: { by, count }, expectedVersion: before?.version ?? 0 }) as Promise<Json>;
  say({ request: by, key, count });
  try {
    say({ request: by, answer: await ask() });
  } catch (error) {
    // Any other failure says that nothing was changed, and the audit holds it to that.
    if (!isHoldfastError(error, "outcome_unknown")) throw error;
    say({ request: by, answer: await untilAnswered(place, ask) });
  }
  if (random() < 0.1) say({ request: by, answer: await untilAnswered(place, ask) });
};

/** The domain asks again by itself once; that an answer was lost is told even so. */
const tellingUnknown = (store: Store, tell: () => void): Store => ({
  ...store,
  commit: (commit) =>
    store.commit(commit).catch((error: unknown) => {
      if (isHoldfastError(error, "outcome_unknown")) tell();
      throw error;
    }),
});

const writers: readonly LoadLoop[] = [plainWrite, plainWrite, group, lease, look, increment, increment];

async function untilAnswered<T>({ clock, random, givenUp }: Place, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isEngineFailure(error) || givenUp.aborted) throw error;
      await clock.sleep(between(random, afterFailureMs.min, afterFailureMs.max));
    }
  }
}

async function repeat(place: Place, lane: LoadLoop, stop: AbortSignal): Promise<void> {
  const { clock, random } = place;
  while (!stop.aborted) {
    const wait = await lane(place).then(
      () => breathMs,
      (error: unknown) => {
        // Every other code is recorded with its call and judged there; going on shows whether it stays.
        if (!isHoldfastError(error)) throw error;
        return afterFailureMs;
      },
    );
    await clock.sleep(between(random, wait.min, wait.max));
  }
}

/**
 * Says every change. When the engine fails, and now and then by itself, it begins another life after the last revision it has seen;
 * when that is gone, from the present.
 */
async function watch({ bare, clock, random, say }: Place, stop: AbortSignal): Promise<void> {
  let after: Revision = 0;
  while (!stop.aborted) {
    say({ life: after });
    let left = between(random, lifeChanges.min, lifeChanges.max);
    try {
      for await (const change of bare.watch(everything, after, stop)) {
        after = change.revision;
        say({ change: change as unknown as Json });
        left -= 1;
        if (left === 0) break;
      }
    } catch (error) {
      if (!isHoldfastError(error)) throw error;
      say({ lifeEnded: error.code });
      if (error.code === "compacted") after = (await presentRevision(bare, clock, stop)) ?? after;
      else await clock.sleep(between(random, afterFailureMs.min, afterFailureMs.max));
    }
  }
}

/** What a watcher does that is told that its past is gone: reads the state and goes on from there. */
async function presentRevision(store: Store, clock: Clock, stop: AbortSignal): Promise<Revision | undefined> {
  while (!stop.aborted) {
    try {
      return (await store.read(everything, { limit: 1 })).revision;
    } catch (error) {
      if (!isEngineFailure(error)) throw error;
      await clock.sleep(20);
    }
  }
  return undefined;
}

const isEngineFailure = (error: unknown): boolean => isHoldfastError(error, "unavailable") || isHoldfastError(error, "outcome_unknown");
