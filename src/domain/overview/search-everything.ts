import { findText } from "../../search/find-text.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Entry } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { readRunNames } from "../history/activity-titles.ts";
import { globalJournal } from "../journal/journal.ts";
import { toJournalEntry } from "../journal/journal-entry.ts";
import { journalKeys, knowledgeKeys, researchKeys, stateKeys, workflowKeys } from "../keyspace.ts";
import { toNoteContent } from "../knowledge/note.ts";
import { noteTitle } from "../knowledge/note-title.ts";
import { readLeaseOverview } from "../leases/lease-overview.ts";
import { toResearch } from "../research/checkpoint.ts";
import { findRuns } from "../workflows/find-runs.ts";
import { noWorkspaceId } from "../workspace/workspace.ts";

export interface EverythingHit {
  readonly kind: "key" | "run" | "lease" | "journal" | "note" | "research";
  readonly id: string;
  readonly title: string;
  readonly excerpt: string;
  readonly atMs: number;
}

export interface Everything {
  readonly hits: readonly EverythingHit[];
  /** Kinds with more hits than are returned. */
  readonly more: readonly EverythingHit["kind"][];
  /** Kinds that were searched only in part, with the number of entries searched. */
  readonly looked: Readonly<Partial<Record<EverythingHit["kind"], number>>>;
}

/** Hits of one kind, up to one more than is shown. `looked` is set if the kind was searched only in part. */
interface Found {
  readonly kind: EverythingHit["kind"];
  readonly hits: readonly EverythingHit[];
  readonly looked?: number;
}

export interface SearchScope {
  readonly workspaceIds: readonly string[];
  readonly skills: readonly string[];
}

/** How many entries of each kind are searched; `places` counts journals. */
const looked = { keys: 2_000, runs: 200, leases: 300, places: 200 } as const;
const shownPerKind = 10;
/** One extra hit shows whether there are more. */
const wantedPerKind = shownPerKind + 1;
const excerptCharacters = 200;

/**
 * Finds everything with a matching name or text. Notes, journal entries and research are found by their words, the rest by name:
 * keys that start with the query, then keys that contain it, then matches among the newest runs and among the leases.
 */
export async function searchEverything(scope: Scope, question: string, searched: SearchScope): Promise<Everything> {
  const lower = question.toLowerCase();
  const [keys, runs, leases, written] = await Promise.all([
    findKeys(scope, question, lower),
    findNamedRuns(scope, lower),
    findLeases(scope, lower),
    findWritten(scope, question, searched),
  ]);
  const found = [keys, runs, leases, ...written];
  return {
    hits: found.flatMap(({ hits }) => hits.slice(0, shownPerKind)),
    more: found.filter(({ hits }) => hits.length > shownPerKind).map(({ kind }) => kind),
    looked: Object.fromEntries(found.flatMap(({ kind, hits, looked: at }) => (at === undefined || hits.length > shownPerKind ? [] : [[kind, at]]))),
  };
}

async function findKeys({ store }: Scope, question: string, lower: string): Promise<Found> {
  const found = new Map<string, Entry>();
  const beginning = await store.read(stateKeys.prefix(question), { limit: wantedPerKind, values: false });
  for (const entry of beginning.entries) found.set(entry.key, entry);
  let range = stateKeys.all;
  let isWhole = false;
  for (let scanned = 0; scanned < looked.keys && found.size < wantedPerKind; scanned += 1_000) {
    const page = await store.read(range, { values: false });
    for (const entry of page.entries) if (found.size < wantedPerKind && stateKeys.nameOf(entry.key).toLowerCase().includes(lower)) found.set(entry.key, entry);
    const last = page.entries.at(-1);
    if (!page.more || last === undefined) {
      isWhole = true;
      break;
    }
    range = { ...range, start: `${last.key}\0` };
  }
  const { entries } = found.size === 0 ? { entries: [] } : await store.read([...found.keys()].map(keyRange));
  const hits = entries.map((entry): EverythingHit => {
    const name = stateKeys.nameOf(entry.key);
    return { kind: "key", id: name, title: name, excerpt: cut(JSON.stringify(entry.value)), atMs: entry.updatedAtMs };
  });
  return { kind: "key", hits, ...(isWhole ? {} : { looked: looked.keys }) };
}

async function findNamedRuns(scope: Scope, lower: string): Promise<Found> {
  const { runs, next } = await findRuns(scope, { tags: [], claimable: false, limit: looked.runs });
  const hits = runs
    .filter(({ runId, name, tags, agentId }) =>
      [runId, name, agentId ?? "", ...Object.entries(tags).map(([tag, value]) => `${tag}=${value}`)].some((text) => text.toLowerCase().includes(lower)),
    )
    .slice(0, wantedPerKind)
    .map(({ runId, name, status, lastStep, agentId, updatedAtMs }) => ({
      kind: "run" as const,
      id: runId,
      title: name,
      excerpt: `${status}, step ${lastStep}${agentId === undefined ? "" : `, ${agentId}`}`,
      atMs: updatedAtMs,
    }));
  return { kind: "run", hits, ...(next === undefined ? {} : { looked: looked.runs }) };
}

async function findLeases(scope: Scope, lower: string): Promise<Found> {
  const { leases, more } = await readLeaseOverview(scope, looked.leases);
  const found = leases.filter(({ resource, holder }) => resource.toLowerCase().includes(lower) || holder.toLowerCase().includes(lower)).slice(0, wantedPerKind);
  const names = await readRunNames(
    scope,
    found.flatMap(({ resource }) => workflowKeys.runOfResource(resource) ?? []),
  );
  const hits = found.map(({ resource, holder, heldSinceMs }): EverythingHit => {
    const title = names.get(workflowKeys.runOfResource(resource) ?? "") ?? resource;
    return { kind: "lease", id: resource, title, excerpt: `held by ${holder}`, atMs: heldSinceMs };
  });
  return { kind: "lease", hits, ...(more ? { looked: looked.leases } : {}) };
}

async function findWritten({ store }: Scope, question: string, { workspaceIds, skills }: SearchScope): Promise<readonly Found[]> {
  const journalIds = [...new Set([...workspaceIds, noWorkspaceId, globalJournal])].slice(0, looked.places);
  const areas: Readonly<Record<"journal" | "note" | "research", readonly string[]>> = {
    note: [undefined, ...skills].map(knowledgeKeys.area),
    journal: journalIds.map(journalKeys.area),
    research: [researchKeys.area],
  };
  return Promise.all(
    (["note", "journal", "research"] as const).map(async (kind) => {
      const { hits } = await findText(store, { areas: areas[kind], question, limit: wantedPerKind });
      if (hits.length === 0) return { kind, hits: [] };
      const { entries } = await store.read(hits.map(({ key }) => keyRange(key)));
      const byKey = new Map(entries.map((entry) => [entry.key, entry]));
      return {
        kind,
        hits: hits.flatMap(({ key }) => {
          const entry = byKey.get(key);
          return entry === undefined ? [] : [writtenHit(kind, entry)];
        }),
      };
    }),
  );
}

function writtenHit(kind: "journal" | "note" | "research", entry: Entry): EverythingHit {
  if (kind === "note") {
    const name = knowledgeKeys.nameOf(entry.key);
    const { content } = toNoteContent(entry);
    return { kind, id: name, title: noteTitle({ content, id: name }), excerpt: cut(content.replace(/^#{1,6}\s+/, "")), atMs: entry.updatedAtMs };
  }
  if (kind === "journal") {
    const { id, description, createdAtMs } = toJournalEntry(entry);
    return { kind, id, title: cut(description.split("\n", 1)[0] as string, 80), excerpt: cut(description), atMs: createdAtMs };
  }
  const { coreQuestion, thesis, savedAtMs } = toResearch(entry);
  return { kind, id: researchKeys.idOf(entry.key), title: cut(coreQuestion, 120), excerpt: cut(thesis), atMs: savedAtMs };
}

const cut = (text: string, charactersMax: number = excerptCharacters): string => (text.length > charactersMax ? `${text.slice(0, charactersMax).toWellFormed()}…` : text);
