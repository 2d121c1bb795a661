import { LogPaging } from "../../ledger/log-paging.ts";
import { requireUnsealed } from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import type { LogPage, LogQuery, LogRow } from "../../store/store.ts";
import { boundsOf, filterOf } from "./key-names.ts";
import { scriptArguments } from "./lua-script.ts";
import type { NamespaceScripts } from "./namespace-scripts.ts";
import { kindPrefix, parseStored, toLogRow } from "./records.ts";
import { logScript } from "./redis-scripts.ts";

export async function readLog(scripts: NamespaceScripts, query: LogQuery): Promise<LogPage> {
  const { kinds, writer = "" } = query.recorded ?? {};
  const flag = (is: boolean | undefined): string => (is ? "1" : "0");
  const named = {
    limit: String(query.limit ?? limits.logRowsMax),
    reverse: flag(query.reverse),
    values: flag(query.values !== false),
    after: String(query.after ?? 0),
    before: query.before === undefined ? "" : String(query.before),
    recorded: flag(query.recorded !== undefined),
    writer,
    narrow: flag(query.narrow),
    previous: flag(query.previous),
    values_bytes_max: query.valuesBytesMax === undefined ? "" : String(query.valuesBytesMax),
    kind_count: String(kinds?.length ?? -1),
  };
  const rest = [...(kinds ?? []).map(kindPrefix), String(query.ranges.length), ...query.ranges.flatMap(filterOf), ...query.ranges.flatMap(boundsOf)];
  const [factsText, looked, ...flat] = (await scripts.read(logScript, scriptArguments(logScript, named, rest))) as [string, string, ...(string | null)[]];
  const facts = scripts.learn(factsText);
  requireUnsealed(facts.seal, "read");
  const paging = new LogPaging(query, facts);
  const fetched: LogRow[] = [];
  const hasPrevious = query.previous === true && query.values !== false;
  for (let i = 0; i < flat.length; i += 4) {
    const [id, header, json, previous] = flat.slice(i, i + 4) as [string, string, string | null, string];
    const row = toLogRow(id, header, json);
    fetched.push(json === null ? { ...row, unread: true } : hasPrevious ? { ...row, previous: parseStored(previous) } : row);
  }
  return paging.page(fetched, looked === "" ? undefined : { from: Number(looked), to: Number(looked) });
}
