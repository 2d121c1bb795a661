import { isHoldfastError } from "../../kernel/errors.ts";
import { everything } from "../../store/ranges.ts";
import type { LogRow, Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { waitForChange } from "../../store/wait-for-change.ts";
import { asItHappened } from "../log-order.ts";
import type { Activity } from "./activity.ts";
import { toActivities } from "./activity.ts";

/** A reader's position in the history: every change of `revision` was delivered, or only the first `seen` of them. */
export interface Position {
  readonly revision: Revision;
  readonly seen?: number;
}

export type Followed =
  /** `position`: where to resume after this activity. `times`: the number of consecutive changes that it represents. */
  | { readonly is: "activity"; readonly activity: Activity; readonly times: number; readonly position: Position }
  /** Changes before `revision` were skipped: they were compacted, lost when the store was rolled back, or too many to send. Read everything again. */
  | { readonly is: "restart"; readonly revision: Revision };

/** At most `rowsMax` rows are read at a time, followed by a pause in which new rows accumulate. */
const pace = { rowsMax: 500, pauseMs: 150 } as const;
/** A reader that is still this many revisions behind after a page gets a restart instead of every single change. */
const behindMax = 5_000;
/** Each wait ends after this long and reads again, in case a notification was missed. */
const waitMs = 30_000;

/**
 * Yields every change after a position, in order, without gaps or repeats, until the signal aborts.
 * Consecutive changes that differ only in revision and time are yielded as one.
 */
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

/** Changes that the reader has not seen yet, each with its index within its revision. */
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

/** Returns undefined if the log no longer reaches back to this position. */
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
