import { pastBound } from "../../ledger/past.ts";
import { limits } from "../../store/limits.ts";
import { compareKeys, rangeAfter, rangeBefore } from "../../store/ranges.ts";
import type { Entry, Range, ReadOptions, SearchAnswer, SearchHit, SearchQuery, Snapshot } from "../../store/store.ts";
import { boundsOf } from "./key-names.ts";
import { scriptArguments } from "./lua-script.ts";
import type { NamespaceScripts } from "./namespace-scripts.ts";
import type { RedisNamespaceFacts } from "./records.ts";
import { areaName, headerEntryId, streamPositionOf, toEntry, toPastEntry } from "./records.ts";
import { damagedError } from "./redis-errors.ts";
import { pastScript, readScript, searchScript, valuesScript } from "./redis-scripts.ts";

/** The maximum number of keys that one script examines: only many expired entries make a page cost more than its size. */
const looksMax = 5_000;
const valuesPerCall = 200;
const attemptsMax = 4;

const flag = (is: boolean): string => (is ? "1" : "0");

interface Row {
  readonly key: string;
  readonly header: string;
  json: string | null;
}

/** Live entries at one moment. Entries that do not fit one script are read in parts; if there was a commit in between, all of them are read again. */
export async function readLive(scripts: NamespaceScripts, ranges: readonly Range[], options: ReadOptions): Promise<Snapshot> {
  for (let attempt = 1; ; attempt += 1) {
    const found = await tryReadLive(scripts, ranges, options, attempt === attemptsMax ? Number.MAX_SAFE_INTEGER : looksMax);
    if (found !== undefined) return found;
    if (attempt === attemptsMax) throw damagedError("a value of an entry");
  }
}

async function tryReadLive(
  scripts: NamespaceScripts,
  ranges: readonly Range[],
  { limit = limits.readEntriesMax, reverse = false, values }: ReadOptions,
  looks: number,
): Promise<Snapshot | undefined> {
  let rest = reverse ? ranges.toReversed() : ranges;
  const rows: Row[] = [];
  let moment: RedisNamespaceFacts | undefined;
  for (;;) {
    const named = { limit: String(limit - rows.length), reverse: flag(reverse), values: flag(values !== false), looks: String(looks) };
    const args = scriptArguments(readScript, named, rest.flatMap(boundsOf));
    const [factsText, more, stoppedIn, stoppedAt, ...flat] = (await scripts.read(readScript, args, moment?.nowMs)) as [string, string, string, string, ...(string | null)[]];
    const facts = scripts.show(factsText);
    moment ??= facts;
    if (facts.revision !== moment.revision || facts.nowMs !== moment.nowMs) return undefined;
    for (let i = 0; i < flat.length; i += 3) rows.push({ key: flat[i] as string, header: flat[i + 1] as string, json: flat[i + 2] as string | null });
    if (stoppedIn !== "") {
      const [range, ...later] = rest.slice(Number(stoppedIn)) as [Range, ...Range[]];
      rest = [reverse ? rangeBefore(range, stoppedAt) : rangeAfter(range, stoppedAt), ...later];
      continue;
    }
    if (!(await fetchValues(scripts, rows))) return undefined;
    const entries = rows.map(({ key, header, json }) => toEntry(key, header, json ?? ""));
    return { revision: moment.revision, nowMs: moment.nowMs, entries, more: more === "1" };
  }
}

/** Fetches values that did not fit in a reply. False if one is gone: replaced, and compacted meanwhile. */
async function fetchValues(scripts: NamespaceScripts, rows: readonly Row[]): Promise<boolean> {
  const missing = rows.filter((row) => row.json === null);
  for (let at = 0; at < missing.length; ) {
    const wanted = missing.slice(at, at + valuesPerCall);
    const found = (await scripts.readPlain(
      valuesScript,
      wanted.map(({ header }) => headerEntryId(header)),
    )) as readonly string[];
    if (found.length === 0) return false;
    for (const [i, json] of found.entries()) (wanted[i] as Row).json = json;
    at += found.length;
  }
  return true;
}

interface PastRow {
  readonly range: number;
  readonly entry: Entry;
}

/** Entries as of a revision. They never change, so they can be read in parts, as long as they are kept. */
export async function readPast(
  scripts: NamespaceScripts,
  ranges: readonly Range[],
  at: number,
  { limit = limits.readEntriesMax, reverse = false, values, liveAtMs }: ReadOptions,
): Promise<Snapshot> {
  const ordered = reverse ? ranges.toReversed() : ranges;
  const rows: PastRow[] = [];
  let done = 0;
  let rest = ordered;
  for (;;) {
    const named = { limit: String(limit - rows.length), reverse: flag(reverse), values: flag(values !== false), at: String(at), live_at_ms: String(liveAtMs ?? "") };
    const args = scriptArguments(pastScript, named, rest.flatMap(boundsOf));
    const [factsText, stoppedIn, stoppedAt, ...flat] = (await scripts.read(pastScript, args)) as [string, string, string, ...string[]];
    const facts = scripts.show(factsText);
    pastBound(at, facts);
    for (let i = 0; i < flat.length; i += 4)
      rows.push({ range: done + Number(flat[i]), entry: toPastEntry(flat[i + 1] as string, flat[i + 2] as string, values === false ? "" : (flat[i + 3] as string)) });
    if (stoppedIn === "") {
      const direction = reverse ? -1 : 1;
      rows.sort((a, b) => a.range - b.range || direction * compareKeys(a.entry.key, b.entry.key));
      return { revision: at, nowMs: facts.nowMs, entries: rows.slice(0, limit).map(({ entry }) => entry), more: rows.length > limit };
    }
    done += Number(stoppedIn);
    const [range, ...later] = ordered.slice(done) as [Range, ...Range[]];
    rest = [reverse ? rangeBefore(range, stoppedAt) : rangeAfter(range, stoppedAt), ...later];
  }
}

export async function searchText(scripts: NamespaceScripts, { areas, terms }: SearchQuery): Promise<SearchAnswer> {
  const named = { limit: String(limits.searchCandidatesMax), area_count: String(areas.length) };
  const args = scriptArguments(searchScript, named, [...areas.map(areaName), ...terms]);
  const [factsText, documents, totalLength, ...flat] = (await scripts.read(searchScript, args)) as [string, string, string, ...string[]];
  const facts = scripts.show(factsText);
  const hits: SearchHit[] = [];
  for (let i = terms.length; i < flat.length; i += 3 + terms.length)
    hits.push({
      key: flat[i] as string,
      revision: streamPositionOf(flat[i + 1] as string).revision,
      length: Number(flat[i + 2]),
      weights: flat.slice(i + 3, i + 3 + terms.length).map(Number),
    });
  return { revision: facts.revision, documents: Number(documents), totalLength: Number(totalLength), frequencies: flat.slice(0, terms.length).map(Number), hits };
}
