import { formatDuration } from "../../kernel/duration.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Entry, Range, Store } from "../../store/store.ts";
import type { StoredEffect } from "../effects/effect.ts";
import { effectIn, shownState } from "../effects/effect.ts";
import { openEffectsIn } from "../effects/find-effects.ts";
import { effectKeys } from "../keyspace.ts";
import { onOneLine, plainName, quoteMark } from "../stored-text.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { isElsewhere } from "./open-work.ts";
import type { PackSection } from "./resume-pack.ts";
import type { WorkPicture, WorkRun } from "./work-picture.ts";

const most = { unknown: 20, shown: 5, doneRuns: 3, done: 8, name: 60, args: 160 } as const;

/** Effects whose owner is gone, whose records are read next: the oldest of the workspace, then the newest of others, which may be the caller's as well. */
export function chooseEffects(open: readonly Entry[], lives: readonly Entry[], workspace: Workspace): readonly string[] {
  const gone = openEffectsIn(open, lives).filter(({ isLive }) => !isLive);
  const [here, elsewhere] = [false, true].map((is) => gone.filter((effect) => isElsewhere({ tags: {}, workspace: effect.workspace }, workspace) === is));
  return [...(here ?? []).slice(0, most.unknown), ...(elsewhere ?? []).slice(-most.unknown)].map(({ id }) => id);
}

export const effectRecordRanges = (ids: readonly string[]): readonly Range[] => ids.flatMap((id) => [keyRange(effectKeys.record(id)), keyRange(effectKeys.live(id))]);

const storedIn = (ids: readonly string[], byKey: ReadonlyMap<string, Entry>): readonly StoredEffect[] =>
  ids.flatMap((id) => effectIn({ entries: [effectKeys.record(id), effectKeys.live(id)].flatMap((key) => byKey.get(key) ?? []) }, id) ?? []);

/** Unknown effects that concern the caller: those of its runs, those it began, and those of the workspace. */
export function drawUnknown(ids: readonly string[], byKey: ReadonlyMap<string, Entry>, workspace: Workspace, { mine, agent }: WorkPicture): readonly StoredEffect[] {
  const runs = new Set(mine.map(({ runId }) => runId));
  const concerns = ({ record, entry }: StoredEffect): boolean =>
    !isElsewhere({ tags: {}, workspace: record.workspace }, workspace) ||
    (record.run !== undefined && runs.has(record.run)) ||
    (agent !== undefined && (record.begunBy ?? entry.agent) === agent);
  return storedIn(ids, byKey).filter((effect) => shownState(effect) === "unknown" && concerns(effect));
}

/** The completed effects of the caller's runs, by run, newest first. */
export async function readDoneEffects(store: Store, mine: readonly WorkRun[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const lists = await Promise.all(
    mine.slice(0, most.doneRuns).map(async ({ runId }) => {
      const { entries } = await store.read(effectKeys.endedIn.range(runId), { reverse: true, limit: most.done, values: false });
      return [runId, entries.map(({ key }) => effectKeys.idOf(key))] as const;
    }),
  );
  const ranges = effectRecordRanges(lists.flatMap(([, ids]) => ids));
  if (ranges.length === 0) return new Map();
  const byKey = new Map((await store.read(ranges)).entries.map((entry) => [entry.key, entry]));
  const doneIn = (ids: readonly string[]): readonly string[] => storedIn(ids, byKey).flatMap((effect) => (effect.record.state === "done" ? [effectText(effect)] : []));
  return new Map(lists.map(([runId, ids]) => [runId, doneIn(ids)]));
}

const nameOf = ({ record: { name, tool } }: StoredEffect): string =>
  name === undefined ? plainName(tool, most.name) : `${plainName(tool, most.name)} ${plainName(name, most.name)}`;

const effectText = (effect: StoredEffect): string => `${nameOf(effect)}${effect.record.name === undefined ? ` ${onOneLine(effect.record.args, most.name)}` : ""}`;

/** Effects that may or may not have happened. The section comes first, because all later work may depend on them. */
export const unknownSection = (unknown: readonly StoredEffect[], nowMs: number): PackSection => ({
  title: "Outcome unknown: do not repeat, find out first",
  items: unknown.slice(0, most.shown).map((effect, i) => {
    const { id, record, entry, begunAtMs } = effect;
    const by = record.begunBy ?? entry.agent;
    const where =
      record.run === undefined ? "" : `, run ${plainName(record.run, most.name)}${record.step === undefined ? "" : ` step ${plainName(String(record.step), most.name)}`}`;
    const when = `begun ${formatDuration(Math.max(0, nowMs - begunAtMs))} ago${by === undefined ? "" : ` by ${plainName(by, most.name)}`}`;
    return {
      counts: "effects",
      lines: [
        `- ${nameOf(effect)}${where}, ${when} → effects ${id}, then as done or failed`,
        `${quoteMark}${onOneLine(record.args, most.args)}${record.reason === undefined ? "" : ` (${onOneLine(record.reason, most.args)})`}`,
      ],
      tier: i < 2 ? 0 : 1,
    };
  }),
  leftOut: (count) => `${count} more: effects`,
});
