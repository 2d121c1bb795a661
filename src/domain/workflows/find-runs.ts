import type { Json } from "../../kernel/json.ts";
import { compareKeys, inRange, keyRange, rangeAfter, rangeBefore } from "../../store/ranges.ts";
import { readTogether } from "../../store/read-together.ts";
import type { Entry, Range } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import type { Tag } from "../keyspace.ts";
import { workflowKeys } from "../keyspace.ts";
import { leaseIn, leaseRanges } from "../leases/lease.ts";
import { hasTags } from "./claims.ts";
import { readSteps } from "./read-steps.ts";
import type { RunStatus } from "./workflow.ts";
import { toRun } from "./workflow.ts";
import type { RunView } from "./workflows.ts";
import { requireRun, toRunView } from "./workflows.ts";

export interface FindInput {
  readonly tags: readonly Tag[];
  readonly status?: RunStatus;
  /** Only runs that can be claimed now, in the order they are handed out; otherwise newest first. */
  readonly claimable: boolean;
  /** An extra filter on the runs. */
  readonly accepts?: (run: RunView) => boolean;
  readonly limit: number;
  /** The `next` cursor of the previous page. */
  readonly after?: string;
  /** The most index entries read for one page. A page that reaches this limit may be short but has a next page. */
  readonly scannedMax?: number;
}
export interface FoundRuns {
  readonly runs: readonly RunView[];
  /** Pass this as `after` to get the next page; undefined at the end. */
  readonly next?: string;
}

type Reader = Pick<Scope, "store">;

const scanPage = 100;
/** Limits the work of one call whose filter matches few runs. */
const scannedUsually = 2_000;

/** Returns runs as of a single revision, however many reads that takes. */
export async function findRuns({ store }: Scope, input: FindInput): Promise<FoundRuns> {
  if (!input.claimable) return readTogether(store, (together) => lookForRuns({ store: together }, input));
  const { nowMs } = await store.position();
  const due = workflowKeys.claimed.dueBy(nowMs + lapsingMs);
  return readTogether(store, async (together) => {
    // Reading an old revision of these two indexes is slow, because many runs have left them
    // since. Their first page is therefore read first, at the current revision.
    const { entries, more } = await together.read([due, rangeFrom(input, input.after)], { values: false });
    const waiting = entries.filter(({ key }) => !inRange(key, due)).map(({ key }) => key);
    const page = { keys: waiting.slice(0, scanPage), more: more || waiting.length > scanPage };
    const lapsed = await lapsedPositions(
      { store: together },
      entries.filter(({ key }) => inRange(key, due)).map(({ key }) => workflowKeys.idOf(key)),
      input.tags[0],
    );
    return lookForRuns({ store: together }, input, lapsed, waiting.length === 0 && more ? undefined : page);
  });
}

/** The time is read before the snapshot. Claims that may lapse in between are included, and the snapshot shows whether they did. */
const lapsingMs = 1_000;

function indexOf({ tags: [firstTag], claimable }: FindInput): Range {
  if (claimable) return firstTag === undefined ? workflowKeys.ready.range : workflowKeys.readyTagged.range(firstTag);
  return firstTag === undefined ? workflowKeys.listed.range : workflowKeys.tagged.range(firstTag);
}

function rangeFrom(input: FindInput, cursor: string | undefined): Range {
  const whole = indexOf(input);
  if (cursor === undefined) return whole;
  return input.claimable ? rangeAfter(whole, whole.start + cursor) : rangeBefore(whole, whole.start + cursor);
}

interface IndexPage {
  readonly keys: readonly string[];
  readonly more: boolean;
}

async function readIndex({ store }: Reader, input: FindInput, cursor: string | undefined): Promise<IndexPage> {
  const { entries, more } = await store.read(rangeFrom(input, cursor), { limit: scanPage, reverse: !input.claimable, values: false });
  return { keys: entries.map(({ key }) => key), more };
}

async function lookForRuns(scope: Reader, input: FindInput, lapsed: readonly string[] = [], firstPage?: IndexPage): Promise<FoundRuns> {
  const { tags, status, claimable, accepts = () => true, limit, after, scannedMax = scannedUsually } = input;
  const whole = indexOf(input);
  const runs: RunView[] = [];
  let cursor = after;
  for (let scanned = 0; scanned < scannedMax; scanned += scanPage) {
    const page = scanned === 0 && firstPage !== undefined ? firstPage : await readIndex(scope, input, cursor);
    const keys = withLapsed(page.keys, lapsed, { after: cursor === undefined ? "" : whole.start + cursor, isLastPage: !page.more });
    const views = await readRuns(
      scope,
      keys.map((key) => workflowKeys.idOf(key)),
    );
    for (const [i, key] of keys.entries()) {
      if (runs.length === limit) return { runs, next: cursor };
      cursor = key.slice(whole.start.length);
      const view = views[i];
      if (view === undefined || !hasTags(view, tags) || (status !== undefined && view.status !== status) || (claimable && view.claimExpiresAtMs !== undefined)) continue;
      if (accepts(view)) runs.push(view);
    }
    if (!page.more) return { runs };
  }
  return { runs, next: cursor };
}

/**
 * A run whose claim has lapsed stays in the `claimed` index until the next worker requeues it. Reads must not move it, so its position
 * among the claimable runs is computed here. Sorted; covers the lapsed claims that one read returned.
 */
async function lapsedPositions(scope: Reader, runIds: readonly string[], tag: Tag | undefined): Promise<string[]> {
  const lapsed: string[] = [];
  for (let from = 0; from < runIds.length; from += scanPage) {
    const views = await readRuns(scope, runIds.slice(from, from + scanPage));
    for (const view of views) {
      if (view === undefined || view.claimExpiresAtMs !== undefined || (tag !== undefined && !hasTags(view, [tag]))) continue;
      lapsed.push(tag === undefined ? workflowKeys.ready.key(view.priority, view.place, view.runId) : workflowKeys.readyTagged.key(tag, view.priority, view.place, view.runId));
    }
  }
  return lapsed.sort(compareKeys);
}

/** Merges into one index page the lapsed runs that sort within its bounds. */
function withLapsed(keys: readonly string[], lapsed: readonly string[], { after, isLastPage }: { readonly after: string; readonly isLastPage: boolean }): readonly string[] {
  const last = keys.at(-1);
  const between = lapsed.filter((key) => compareKeys(key, after) > 0 && (isLastPage || last === undefined || compareKeys(key, last) <= 0) && !keys.includes(key));
  return between.length === 0 ? keys : [...keys, ...between].sort(compareKeys);
}

/** The runs with these ids, undefined where a run does not exist. */
async function readRuns({ store }: Reader, runIds: readonly string[]): Promise<(RunView | undefined)[]> {
  if (runIds.length === 0) return [];
  const snapshot = await store.read(runIds.flatMap((runId) => [keyRange(workflowKeys.run(runId)), ...leaseRanges(workflowKeys.resource(runId))]));
  const byKey = new Map(snapshot.entries.map((entry) => [entry.key, entry]));
  const pick = (key: string): Entry[] => (byKey.has(key) ? [byKey.get(key) as Entry] : []);
  return runIds.map((runId) => {
    const entry = byKey.get(workflowKeys.run(runId));
    if (entry === undefined) return undefined;
    const resource = workflowKeys.resource(runId);
    const claim = leaseIn({ entries: leaseRanges(resource).flatMap((range) => pick(range.start)) }, resource);
    return toRunView(runId, toRun(entry), entry.updatedAtMs, claim);
  });
}

export async function requireRunView({ store }: Scope, runId: string): Promise<RunView> {
  const { run, updatedAtMs, claim } = await requireRun(store, runId);
  return toRunView(runId, run, updatedAtMs, claim);
}

export interface ResumedRun {
  readonly view: RunView;
  readonly input?: Json;
  /** In ascending order. */
  readonly steps: readonly { readonly step: number; readonly output: Json }[];
  /** Steps were left out because of the limit or because the outputs are long: earlier steps without `stepsAfter`, later ones with it. */
  readonly more: boolean;
}

/** What a worker needs to continue: the run, its input and its step outputs, either the newest `limit` or those after a given step. */
export function resumeRun(scope: Scope, runId: string, { stepsAfter, limit }: { readonly stepsAfter?: number; readonly limit: number }): Promise<ResumedRun> {
  return readTogether(scope.store, async (store) => {
    const { run, updatedAtMs, claim, snapshot } = await requireRun(store, runId, [keyRange(workflowKeys.input(runId))]);
    const { steps, more } = await readSteps({ store }, runId, { limit, after: stepsAfter });
    const input = snapshot.entries.find((entry) => entry.key === workflowKeys.input(runId))?.value;
    return { view: toRunView(runId, run, updatedAtMs, claim), input, steps: steps.map(({ step, output }) => ({ step, output })), more };
  });
}
