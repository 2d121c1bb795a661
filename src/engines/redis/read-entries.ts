import { futureRevisionError, requireKept } from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import { compareKeys, rangeAfter, rangeBefore } from "../../store/ranges.ts";
import type { Entry, Range, ReadOptions, Snapshot } from "../../store/store.ts";
import { boundsOf } from "./key-names.ts";
import { scriptArguments } from "./lua-script.ts";
import type { NamespaceScripts } from "./namespace-scripts.ts";
import type { RedisNamespaceFacts } from "./records.ts";
import { headerEntryId, toEntry, toPastEntry } from "./records.ts";
import { damagedError } from "./redis-errors.ts";
import { pastScript, readScript, valuesScript } from "./redis-scripts.ts";

/** Keys one script looks at: only a crowd of expired entries makes a page cost more than its size. */
const looksMax = 5_000;
const valuesPerCall = 200;
const attemptsMax = 4;

const flag = (is: boolean): string => (is ? "1" : "0");

interface Row {
  readonly key: string;
  readonly header: string;
  json: string | null;
}

/** Live entries of one moment. Entries that do not fit one script are read in pieces; if something was committed in between, all of them are read again. */
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

/** Values for which a reply had no room. False when one is gone: replaced, and compacted meanwhile. */
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

/** What was there at a revision. It never changes, so it may be asked for in pieces, as long as it is kept. */
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
    if (at > facts.revision) throw futureRevisionError(at, facts.revision);
    requireKept(at, facts);
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
