import { isHoldfastError } from "../../kernel/errors.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Entry, LogPage, LogQuery, LogRow, Range, Revision, Store, StorePosition } from "../../store/store.ts";
import type { StoredEffect } from "../effects/effect.ts";
import type { EntryHit } from "../journal/find-entries.ts";
import { relatedToHits, searchEntries } from "../journal/find-entries.ts";
import { globalJournal } from "../journal/journal.ts";
import type { JournalEntry } from "../journal/journal-entry.ts";
import { toJournalEntry } from "../journal/journal-entry.ts";
import type { RelatedEntry } from "../journal/related-entries.ts";
import { effectKeys, journalKeys, leaseKeys, researchKeys, stateKeys, workflowKeys, workspaceKeys } from "../keyspace.ts";
import type { RecalledNote } from "../knowledge/recall.ts";
import { recallNotes } from "../knowledge/recall.ts";
import { toHold } from "../leases/lease.ts";
import type { CheckpointSummary } from "../research/list-checkpoints.ts";
import { listCheckpoints, toSummary } from "../research/list-checkpoints.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { Changes, ThingChanged } from "./changes.ts";
import { changedRanges, drawChanges } from "./changes.ts";
import { chooseEffects, drawUnknown, effectRecordRanges, readDoneEffects } from "./effects-picture.ts";
import type { Caller, JournalPicture } from "./journal-picture.ts";
import { drawJournal } from "./journal-picture.ts";
import { readLists, storeAt, unlessCompacted } from "./one-revision.ts";
import type { RunDetails, WorkPicture, WorkRun } from "./work-picture.ts";
import { chooseWork, detailRanges, detailsOf, drawWork, workLimits, workRanges } from "./work-picture.ts";

export interface PictureQuery extends Caller {
  readonly workspace: Workspace;
  readonly sinceRevision?: Revision;
  readonly query?: string;
  readonly also?: readonly string[];
  readonly skill?: string;
  readonly claimedHere: (runId: string, token: Revision) => boolean;
  /** Token budget; notes may use half of it. */
  readonly tokensMax: number;
}

/** Everything that a resume text may contain, as of one revision. */
export interface Picture extends StorePosition {
  readonly journal: JournalPicture;
  readonly work: WorkPicture;
  /** Effects whose outcome is unknown, oldest first. */
  readonly unknownEffects: readonly StoredEffect[];
  readonly detailsOf: (run: WorkRun) => RunDetails;
  /** Journal entries that answer the query, best first. */
  readonly answers: readonly JournalEntry[];
  /** Entries related to the first answer. */
  readonly related: readonly RelatedEntry[];
  readonly notes: readonly RecalledNote[];
  readonly research?: Entry;
  /** State entries that belong to this work. */
  readonly keys: readonly Entry[];
  readonly changes: Changes;
  /** The current entry of a changed thing; undefined if it was deleted. */
  readonly currentOf: (thing: ThingChanged) => Entry | undefined;
  /** Changes after this revision are listed. */
  readonly since?: Revision;
  readonly agent?: string;
}

const most = {
  entries: 60,
  news: 20,
  holders: 1_000,
  effects: 1_000,
  research: 20,
  answers: 3,
  related: 4,
  notes: 3,
  notesLookedAt: 16,
  keys: 12,
  changes: 40,
  detailed: 12,
  ownRows: 100,
  finishRows: 200,
  changedRows: 1_000,
} as const;
/** How many characters are read at once of inputs, outputs and values, which may be long. */
const valueCharactersMax = 2_000_000;
const questionCharactersMax = 400;

/**
 * Reads in four rounds, regardless of the amount of data: the indexes; the things they list; the details of those, together with a search by the last
 * entry; the results of that search. The indexes are read as current, and everything else as of their revision.
 */
export const drawPicture = (store: Store, query: PictureQuery): Promise<Picture> => unlessCompacted(() => draw(store, query));

async function draw(store: Store, query: PictureQuery): Promise<Picture> {
  const { workspace, agent, sinceRevision, claimedHere } = query;
  const listed = readIndexes(store, workspace);
  const at = storeAt(store, listed);
  const asked = query.query === undefined ? undefined : answersTo(at, query, query.query);
  const [lists, ownRows, runRows] = await Promise.all([
    listed,
    agent === undefined ? [] : readRows(store, { recorded: { writer: agent }, limit: most.ownRows }),
    readRows(store, { recorded: { kinds: ["workflow"] }, limit: most.finishRows }),
  ]);
  const { revision, nowMs } = lists;
  const rowsUntilNow = (rows: readonly LogRow[]): readonly LogRow[] => rows.filter((row) => row.revision <= revision);

  const isOwnHold = (hold: Entry): boolean => {
    const runId = workflowKeys.runOfResource(leaseKeys.resourceOfHolder(hold.key));
    return toHold(hold).holder === agent || (runId !== undefined && claimedHere(runId, hold.revision));
  };
  const candidates = chooseWork(lists.holders, lists.claimed, lists.ready, rowsUntilNow(runRows), isOwnHold);
  const ownIds = rowsUntilNow(ownRows).flatMap(({ key }) => (journalKeys.entries.start === key.slice(0, journalKeys.entries.start.length) ? [journalKeys.idOf(key)] : []));
  const entryKeys = new Set([...lists.entryIds, ...ownIds.slice(0, 1)].map(journalKeys.entry));
  const things = byKey(await readAll(at, [...workRanges(candidates), ...[...entryKeys].map(keyRange), ...effectRecordRanges(lists.unknownEffects)]));

  const entries = [...entryKeys].flatMap((key) => (things.has(key) ? [toJournalEntry(things.get(key) as Entry)] : []));
  const journal = drawJournal(entries, workspace, query);
  const work = drawWork(candidates, things, { workspace, agent: journal.agent, claimedHere });
  const since = sinceRevision ?? journal.last?.revision;
  const detailed = [...work.mine, ...(work.agent === undefined ? work.others : []), ...work.free].slice(0, most.detailed);
  const ownKeys = rowsUntilNow(ownRows).flatMap(({ key }) => (key.startsWith(stateKeys.all.start) ? [key] : []));
  const named = [...new Set([...namesIn(journal.last).map(stateKeys.key), ...ownKeys])].slice(0, most.keys);
  const question = query.query === undefined ? journal.last?.description.slice(0, questionCharactersMax).toWellFormed() : undefined;
  const research = query.query === undefined ? chooseResearch(lists.research, workspace, lists.isOnlyHere) : (await asked)?.research;
  const me = work.agent;
  const known = new Set([...entries.map((entry) => entry.agent), ...work.others.map(({ holder }) => holder), ...work.othersLeases.map(({ holder }) => holder), me]);
  const isTheirs = (row: LogRow): boolean => sinceRevision !== undefined || me === undefined || row.agent !== me;
  const isHere = ({ kind, name, key, by }: ThingChanged): boolean =>
    kind !== "key" || lists.isOnlyHere || known.has(by) || name.startsWith(`${workspace.name}/`) || named.includes(key);
  const readChanges = async (after: Revision): Promise<{ readonly changes: Changes; readonly changed: ReadonlyMap<string, Entry> }> => {
    const rows = await readRows(store, { ranges: changedRanges, after, before: revision + 1, limit: most.changedRows });
    const drawn = drawChanges(rows, isTheirs, isHere);
    return {
      changes: drawn,
      changed: byKey(
        await readAll(
          at,
          drawn.things.slice(0, most.changes).map(({ key }) => keyRange(key)),
        ),
      ),
    };
  };
  const [details, done, { changes, changed }, found, values, related] = await Promise.all([
    readAll(at, detailRanges(detailed)),
    readDoneEffects(at, work.mine),
    since === undefined || since > revision ? { changes: { things: [], elsewhere: 0 }, changed: new Map<string, Entry>() } : readChanges(since),
    question === undefined ? asked?.then(({ notes }) => notes) : recall(at, query, question),
    readAll(at, [...(research === undefined ? [] : [keyRange(researchKeys.checkpoint(research.id))]), ...named.map(keyRange)]),
    asked?.then(({ hits }) => relatedToHits({ store: at }, hits, workspace, most.related)) ?? [],
  ]);

  const valuesByKey = byKey(values);
  const detailsByKey = byKey(details);
  return {
    revision,
    nowMs,
    journal,
    work,
    unknownEffects: drawUnknown(lists.unknownEffects, things, workspace, work),
    detailsOf: (run) => ({ ...detailsOf(run, detailsByKey), effects: done.get(run.runId) ?? [] }),
    answers: (await asked)?.hits.map(({ entry }) => entry) ?? [],
    related,
    notes: found ?? [],
    ...(research === undefined ? {} : { research: valuesByKey.get(researchKeys.checkpoint(research.id)) }),
    keys: [...byKey([...named.flatMap((key) => valuesByKey.get(key) ?? []), ...lists.keys]).values()].filter(({ key }) => !changed.has(key)),
    changes,
    currentOf: ({ key }) => changed.get(key),
    since,
    agent: me,
  };
}

const byKey = (entries: readonly Entry[]): Map<string, Entry> => new Map(entries.map((entry) => [entry.key, entry]));
const readAll = async (store: Store, ranges: readonly Range[]): Promise<readonly Entry[]> =>
  ranges.length === 0 ? [] : (await store.read(ranges, { charactersMax: valueCharactersMax })).entries;

interface Indexes extends StorePosition {
  readonly entryIds: readonly string[];
  readonly holders: readonly Entry[];
  readonly claimed: readonly Entry[];
  readonly ready: readonly Entry[];
  readonly research: readonly CheckpointSummary[];
  readonly keys: readonly Entry[];
  /** Ids of effects that were begun and have no live owner. */
  readonly unknownEffects: readonly string[];
  /** True if the store knows no other workspace. */
  readonly isOnlyHere: boolean;
}

const wholeList = (place: string): Range => journalKeys.listed.range(place, 0, undefined, undefined);

async function readIndexes(store: Store, workspace: Workspace): Promise<Indexes> {
  const { id, name, formerIds } = workspace;
  const newest = { reverse: true, values: false } as const;
  const { revision, nowMs, lists } = await readLists(store, [
    { ranges: [...formerIds, id].map(wholeList), options: { ...newest, limit: most.entries } },
    { ranges: wholeList(globalJournal), options: { ...newest, limit: most.news } },
    { ranges: leaseKeys.holders, options: { limit: most.holders } },
    { ranges: workflowKeys.claimed.dueBy(Number.MAX_SAFE_INTEGER), options: { limit: workLimits.claimedMax, values: false } },
    { ranges: workflowKeys.ready.range, options: { limit: workLimits.readyMax, values: false } },
    // Read in reverse, so that checkpoints of this workspace come before those of no workspace.
    { ranges: [researchKeys.list, researchKeys.listBy(["workspace", id]), researchKeys.listBy(["workspace", name])], options: { reverse: true, limit: most.research } },
    { ranges: workspaceKeys.ids, options: { limit: 2 + formerIds.length, values: false } },
    { ranges: stateKeys.prefix(`${name}/`), options: { limit: most.keys, charactersMax: valueCharactersMax } },
    { ranges: effectKeys.opens, options: { limit: most.effects } },
    { ranges: effectKeys.lives, options: { limit: most.effects, values: false } },
  ]);
  const entriesOf = (i: number): readonly Entry[] => lists[i]?.entries ?? [];
  return {
    revision,
    nowMs,
    entryIds: [...entriesOf(0), ...entriesOf(1)].map(({ key }) => journalKeys.idOf(key)),
    holders: entriesOf(2),
    claimed: entriesOf(3),
    ready: entriesOf(4),
    research: entriesOf(5).map(toSummary),
    isOnlyHere: entriesOf(6).every(({ key }) => [id, ...formerIds].includes(workspaceKeys.idOf(key))),
    keys: entriesOf(7),
    unknownEffects: chooseEffects(entriesOf(8), entriesOf(9), workspace),
  };
}

/** Reads log rows, newest first, as far back as the log goes. */
async function readRows(store: Store, query: Partial<LogQuery>): Promise<readonly LogRow[]> {
  const full: LogQuery = { ranges: [{ start: "" }], reverse: true, recorded: {}, values: false, ...query };
  const page: LogPage = await store.log(full).catch((error: unknown) => {
    if (!isHoldfastError(error, "compacted")) throw error;
    return store.log({ ...full, lenient: true });
  });
  return page.rows;
}

/** The newest checkpoint of this workspace. One without a workspace counts only if the store has no other workspace. */
function chooseResearch(found: readonly CheckpointSummary[], { id, name }: Workspace, isOnlyHere: boolean): CheckpointSummary | undefined {
  const here = found.filter(({ workspace }) => workspace === name || workspace === id || (workspace === undefined && isOnlyHere));
  return here.toSorted((a, b) => b.savedAtMs - a.savedAtMs)[0];
}

const recall = async (store: Store, { skill, tokensMax }: PictureQuery, question: string, also?: readonly string[]): Promise<readonly RecalledNote[]> =>
  (await recallNotes({ store }, { query: question, also, skill, limit: most.notes, maxTokens: Math.floor(tokensMax / 2), lookedAtMax: most.notesLookedAt })).notes;

async function answersTo(
  store: Store,
  query: PictureQuery,
  question: string,
): Promise<{
  readonly hits: readonly EntryHit[];
  readonly notes: readonly RecalledNote[];
  readonly research?: CheckpointSummary;
}> {
  const { workspace, also } = query;
  const [{ hits }, notes, { checkpoints }] = await Promise.all([
    searchEntries({ store }, { workspace, query: question, also, limit: most.answers }),
    recall(store, query, question, also),
    listCheckpoints({ store }, { query: question, also, limit: most.research }),
  ]);
  const research = checkpoints.find((each) => each.workspace === undefined || each.workspace === workspace.name || each.workspace === workspace.id);
  return { hits, notes, research };
}

/** Words with a slash in an entry, because they may be keys. */
function namesIn(entry: JournalEntry | undefined): readonly string[] {
  if (entry === undefined) return [];
  const text = [entry.description, entry.workContext ?? "", ...entry.highlights].join("\n").slice(0, 8_000);
  const names = text.split(/[^\p{L}\p{N}_.:/-]/u).map((word) => (/[.:]$/.test(word) ? word.slice(0, -1) : word));
  return [...new Set(names.filter((name) => name.includes("/")))].slice(0, most.keys);
}
