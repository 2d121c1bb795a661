import { requireKept, requireUnsealed, wholeRevisions } from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import type { LogPage, LogQuery, LogRow } from "../../store/store.ts";
import { boundsOf, filterOf } from "./key-names.ts";
import type { NamespaceScripts } from "./namespace-scripts.ts";
import { logScript } from "./read-scripts.ts";
import { kindPrefix, toLogRow } from "./records.ts";

export async function readLog(scripts: NamespaceScripts, query: LogQuery): Promise<LogPage> {
  const after = query.after ?? 0;
  const limit = query.limit ?? limits.logRowsMax;
  const { kinds, writer = "" } = query.recorded ?? {};
  const flag = (is: boolean | undefined): string => (is ? "1" : "0");
  const args = [
    String(limit),
    flag(query.reverse),
    flag(query.values !== false),
    String(after),
    query.before === undefined ? "" : String(query.before),
    flag(query.recorded !== undefined),
    writer,
    flag(query.narrow),
    String(kinds?.length ?? -1),
    ...(kinds ?? []).map(kindPrefix),
    String(query.ranges.length),
    ...query.ranges.flatMap(filterOf),
    ...query.ranges.flatMap(boundsOf),
  ];
  const [factsText, looked, ...flat] = (await scripts.read(logScript, args)) as [string, string, ...string[]];
  const facts = scripts.learn(factsText);
  requireUnsealed(facts.seal, "read");
  if (query.after !== undefined && !query.lenient) requireKept(after, facts);
  const fetched: LogRow[] = [];
  for (let i = 0; i < flat.length; i += 3) fetched.push(toLogRow(flat[i] as string, flat[i + 1] as string, flat[i + 2] as string));
  const { rows, cut } = wholeRevisions(fetched, limit);
  const isWhole = looked === "";
  const end = query.reverse ? after : Math.max(after, Math.min(facts.revision, (query.before ?? Number.POSITIVE_INFINITY) - 1));
  return { rows, through: cut ? (rows.at(-1) as LogRow).revision : isWhole ? end : Number(looked), done: isWhole && !cut, revision: facts.revision };
}
