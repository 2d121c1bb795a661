import { keyRange } from "../../store/ranges.ts";
import type { Entry, LogRow } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { effectKeys, journalKeys, researchKeys, workflowKeys } from "../keyspace.ts";
import { object, optional, storedAs, string } from "../stored-record.ts";

/** The readable title of a thing whose name is an id, and its status. */
export interface ActivityTitle {
  readonly title: string;
  /** The current status of a run. A finished run's status never changes again. */
  readonly status?: string;
}

/** Stored records may be large, so at most `atOnce` are held in memory at a time and at most `most` are looked up for one page. */
const read = { atOnce: 50, most: 200 } as const;
const titleCharacters = 100;

/** Titles of the runs, journal entries and research checkpoints that the rows refer to, by engine key. Deleted ones are left out. */
export const readActivityTitles = ({ store }: Pick<Scope, "store">, rows: readonly LogRow[]): Promise<ReadonlyMap<string, ActivityTitle>> =>
  readThings({ store }, [...new Set(rows.flatMap((row) => thingKey(row) ?? []))]);

/** Names of these runs, by id. Deleted runs are left out. */
export async function readRunNames({ store }: Pick<Scope, "store">, runIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const things = await readThings({ store }, runIds.map(workflowKeys.run));
  return new Map(
    runIds.flatMap((runId) => {
      const thing = things.get(workflowKeys.run(runId));
      return thing === undefined ? [] : [[runId, thing.title] as const];
    }),
  );
}

async function readThings({ store }: Pick<Scope, "store">, wanted: readonly string[]): Promise<ReadonlyMap<string, ActivityTitle>> {
  const keys = wanted.slice(0, read.most);
  const things = new Map<string, ActivityTitle>();
  for (let start = 0; start < keys.length; start += read.atOnce) {
    const { entries } = await store.read(keys.slice(start, start + read.atOnce).map(keyRange));
    for (const entry of entries) things.set(entry.key, tell(entry));
  }
  return things;
}

/** The engine key of the thing itself: a run's steps and claims are stored under separate keys. */
export function thingKey({ key, record }: LogRow): string | undefined {
  if (record?.kind === "workflow") return workflowKeys.run(record.subject);
  if (record?.kind === "effect") return effectKeys.record(record.subject);
  return record?.kind === "checkpoint" ? key : undefined;
}

const toTitledRun = storedAs(object({ name: string, status: string }));
const toTitledEffect = storedAs(object<{ readonly tool: string; readonly name?: string }>({ tool: string, name: optional(string) }));
const toTitledEntry = storedAs(object({ description: string }));
const toTitledResearch = storedAs(object({ coreQuestion: string }));

function tell(entry: Entry): ActivityTitle {
  const { key } = entry;
  if (key.startsWith(workflowKeys.runs.start)) {
    const { name, status } = toTitledRun(entry);
    return { title: name, status };
  }
  const title = titleOf(entry);
  const line = title.trim().split("\n", 1)[0] as string;
  return { title: line.length > titleCharacters ? `${line.slice(0, titleCharacters).toWellFormed()}…` : line };
}

function titleOf(entry: Entry): string {
  if (entry.key.startsWith(journalKeys.entries.start)) return toTitledEntry(entry).description;
  if (entry.key.startsWith(researchKeys.all.start)) return toTitledResearch(entry).coreQuestion;
  if (!entry.key.startsWith(effectKeys.records.start)) return "";
  const { name, tool } = toTitledEffect(entry);
  return name ?? tool;
}
