import { isHoldfastError } from "../../kernel/errors.ts";
import { everything } from "../../store/ranges.ts";
import type { LogRow, Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { waitForChange } from "../../store/wait-for-change.ts";
import { asItHappened } from "../log-order.ts";
import type { Activity } from "./activity.ts";
import { toActivities } from "./activity.ts";

/** Where somebody stands in what history tells: everything of a revision has been seen, or only its first `seen` changes. */
export interface Position {
  readonly revision: Revision;
  readonly seen?: number;
}

export type Followed =
  /** `position`: from where to go on after this one. `times`: how many changes in a row it stands for. */
  | { readonly is: "activity"; readonly activity: Activity; readonly times: number; readonly position: Position }
  /** What came before `revision` was left out: it is no longer kept, it was lost when the store went back, or it was too much to tell. Read everything again. */
  | { readonly is: "restart"; readonly revision: Revision };

/** Rows told at a time, and the pause after them in which the next ones gather. */
const pace = { rowsMax: 500, pauseMs: 150 } as const;
/** Who is so many revisions behind after a page is not told them one by one. */
const behindMax = 5_000;
/** A wait this long ends by itself and looks again: a fallback for a missed notification. */
const waitMs = 30_000;

/** Everything that history tells from a position on, in order, none left out and none twice, until the signal aborts. Changes in a row that differ in nothing but their number are told as one. */
export async function* followActivity({ store, clock }: Pick<Scope, "store" | "clock">, from: Position, signal: AbortSignal): AsyncGenerator<Followed> {
  let position = from;
  while (!signal.aborted) {
    const page = await readOn({ store }, position);
    if (page === undefined) {
      const { revision } = await store.position();
      yield { is: "restart", revision };
      position = { revision };
      continue;
    }
    const told = await tellOn({ store }, page.rows, position);
    for (const [i, { activity, nth }] of told.entries()) {
      if (signal.aborted) return;
      const next = told[i + 1]?.activity;
      if (next !== undefined && isSame(activity, next)) continue;
      let times = 1;
      while (isSame(told[i - times]?.activity, activity)) times += 1;
      const isWhole = next?.revision !== activity.revision;
      yield { is: "activity", activity, times, position: isWhole ? { revision: activity.revision } : { revision: activity.revision, seen: nth } };
    }
    position = { revision: Math.max(position.revision, page.through) };
    if (page.revision - position.revision > behindMax) {
      yield { is: "restart", revision: page.revision };
      position = { revision: page.revision };
    }
    if (page.done) await waitForChange(store, clock, everything, position.revision, waitMs, signal);
    await clock.sleep(pace.pauseMs, signal);
  }
}

/** Changes that were not seen yet, each with its index within its revision. */
async function tellOn({ store }: Pick<Scope, "store">, rows: readonly LogRow[], { revision, seen = Number.POSITIVE_INFINITY }: Position) {
  const ordered = rows.toSorted(asItHappened);
  let nth = 0;
  const numbered = ordered.map((row, i) => {
    nth = row.revision === ordered[i - 1]?.revision ? nth + 1 : 1;
    return { row, nth };
  });
  const unseen = numbered.filter(({ row, nth: which }) => row.revision > revision || (row.revision === revision && which > seen));
  const activities = await toActivities(
    { store },
    unseen.map(({ row }) => row),
  );
  return activities.map((activity, i) => ({ activity, nth: (unseen[i] as { nth: number }).nth }));
}

/** Undefined: the log no longer reaches back that far. */
async function readOn({ store }: Pick<Scope, "store">, { revision, seen }: Position) {
  try {
    const after = seen === undefined ? revision : revision - 1;
    const page = await store.log({ ranges: [everything], after, recorded: {}, values: false, limit: pace.rowsMax });
    return page.revision < revision ? undefined : page;
  } catch (error) {
    if (isHoldfastError(error, "compacted")) return undefined;
    throw error;
  }
}

const isSame = (a: Activity | undefined, b: Activity): boolean =>
  a !== undefined && a.kind === b.kind && a.operation === b.operation && a.subject === b.subject && a.writer === b.writer && a.agent === b.agent;
