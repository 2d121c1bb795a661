import { keyRange } from "../../store/ranges.ts";
import type { Entry, LogRow } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { journalKeys, researchKeys, workflowKeys } from "../keyspace.ts";
import { object, storedAs, string } from "../stored-record.ts";

/** What people call a thing whose name is a number, and how it stands. */
export interface ActivityTitle {
  readonly title: string;
  /** Of a run: as it is now. An ended one never changes again. */
  readonly status?: string;
}

/** Results may be large: so many things are held in memory at a time, and looked up for one page at most. */
const read = { atOnce: 50, most: 200 } as const;
const titleCharacters = 100;

/** Runs, journal entries and research checkpoints that the rows speak of, by engine key; those that are gone are left out. */
export const readActivityTitles = ({ store }: Pick<Scope, "store">, rows: readonly LogRow[]): Promise<ReadonlyMap<string, ActivityTitle>> =>
  readThings({ store }, [...new Set(rows.flatMap((row) => thingKey(row) ?? []))]);

/** What people call these runs, by id; those that are gone are left out. */
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

/** Where the thing itself lies: a run's steps and claims have keys of their own. */
export function thingKey({ key, record }: LogRow): string | undefined {
  if (record?.kind === "workflow") return workflowKeys.run(record.subject);
  return record?.kind === "checkpoint" ? key : undefined;
}

const toTitledRun = storedAs(object({ name: string, status: string }));
const toTitledEntry = storedAs(object({ description: string }));
const toTitledResearch = storedAs(object({ coreQuestion: string }));

function tell(entry: Entry): ActivityTitle {
  const { key } = entry;
  if (key.startsWith(workflowKeys.runs.start)) {
    const { name, status } = toTitledRun(entry);
    return { title: name, status };
  }
  const title = key.startsWith(journalKeys.entries.start) ? toTitledEntry(entry).description : key.startsWith(researchKeys.all.start) ? toTitledResearch(entry).coreQuestion : "";
  const line = title.trim().split("\n", 1)[0] as string;
  return { title: line.length > titleCharacters ? `${line.slice(0, titleCharacters).toWellFormed()}…` : line };
}
