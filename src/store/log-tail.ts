import { limits } from "./limits.ts";
import { everything, inRange } from "./ranges.ts";
import type { Engine, LogRow, Range, Revision } from "./store.ts";

/** Rows kept for watchers that are a little behind; the newest page is always kept. They have no values. */
const rowsKeptMax = 2 * limits.logRowsMax;

/**
 * Reads the newest part of a namespace's log once for all watchers of a store. Each watcher starts by reading the log itself. From then on it waits here:
 * after a change, one read without values finds the watchers whose range it concerns, and only those are woken. A watcher that returns too late to be served
 * from the kept rows reads the log itself again, so nothing is buffered for anyone. So does a watcher that is alone: for one, reading ahead saves nothing.
 */
export class LogTail {
  readonly #engine: Engine;
  readonly #namespace: string;
  readonly #readers = new Set<TailReader>();
  #unsubscribe: (() => void) | undefined;
  /** There may be changes after those that were read. */
  #isStale = false;
  #isReading = false;
  /** Every row of the revisions after `#floor`, up to and including `#through`. Undefined: nothing was read for all yet. */
  readonly #rows: LogRow[] = [];
  #floor: Revision = 0;
  #through: Revision | undefined;

  constructor(engine: Engine, namespace: string) {
    this.#engine = engine;
    this.#namespace = namespace;
  }

  /** Join before the first read of the log: from then on, every change is noticed. `withValues`: the watcher reads the rows that concern it itself. */
  join(range: Range, after: Revision, withValues: boolean): TailReader {
    const reader = new TailReader(range, after, withValues, {
      waits: (waiting) => {
        if (this.#serve(waiting)) void this.#readOn();
      },
      leaves: (leaving) => this.#leave(leaving),
    });
    this.#readers.add(reader);
    this.#unsubscribe ??= this.#engine.onChange(this.#namespace, () => this.#changed());
    return reader;
  }

  #leave(reader: TailReader): void {
    this.#readers.delete(reader);
    if (this.#readers.size > 0) return;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.#isStale = false;
    this.#forget();
  }

  #changed(): void {
    if (this.#readers.size === 1) return this.#sendOff();
    this.#isStale = true;
    void this.#readOn();
  }

  /** From here, each watcher continues by reading the log itself. */
  #sendOff(): void {
    this.#isStale = false;
    this.#forget();
    for (const reader of this.#readers) reader.readItself();
  }

  #forget(): void {
    this.#rows.length = 0;
    this.#through = undefined;
  }

  async #readOn(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#isStale) {
      const after = this.#begin();
      if (after === undefined) break;
      this.#isStale = false;
      try {
        const page = await this.#engine.log(this.#namespace, { ranges: [everything], after, limit: limits.logRowsMax, values: false });
        if (this.#through !== after) continue;
        this.#keep(page.rows, page.through);
        if (!page.done) this.#isStale = true;
        for (const reader of this.#readers) if (reader.isWaiting) this.#serve(reader);
      } catch {
        // Watchers differ in what they can still read, so each finds out for itself what is wrong.
        this.#sendOff();
      }
    }
    this.#isReading = false;
  }

  /** The revision to read from: the end of the kept rows, or where the waiting watchers are if that is further on. Undefined: no watcher is waiting. */
  #begin(): Revision | undefined {
    let least: Revision | undefined;
    for (const { isWaiting, cursor } of this.#readers) if (isWaiting && (least === undefined || cursor < least)) least = cursor;
    if (least === undefined) return undefined;
    if (this.#through === undefined || least > this.#through) {
      this.#rows.length = 0;
      this.#floor = least;
      this.#through = least;
    }
    return this.#through;
  }

  #keep(rows: readonly LogRow[], through: Revision): void {
    const kept = this.#rows.length;
    for (const row of rows) this.#rows.push(row);
    this.#through = Math.max(this.#through as Revision, through);
    if (this.#rows.length <= rowsKeptMax) return;
    // Cut to half, so that not every change moves all rows; and only between revisions, never into the newest page.
    const last = this.#rows[Math.min(this.#rows.length - rowsKeptMax / 2, kept) - 1];
    if (last === undefined) return;
    this.#floor = last.revision;
    this.#rows.splice(0, this.#firstAfter(last.revision));
  }

  /** Whether the watcher keeps waiting. */
  #serve(reader: TailReader): boolean {
    const through = this.#through;
    if (through === undefined || reader.cursor >= through) return true;
    const first = this.#firstAfter(reader.cursor);
    if (first === undefined) {
      reader.readItself();
      return false;
    }
    const rows: LogRow[] = [];
    for (let i = first; i < this.#rows.length; i += 1) {
      const row = this.#rows[i] as LogRow;
      if (inRange(row.key, reader.range)) rows.push(row);
    }
    if (rows.length > 0 && reader.withValues) reader.readItself();
    else reader.moveTo(through, rows);
    return rows.length === 0;
  }

  /**
   * The index of the first kept row after a revision. Undefined unless the revision belongs to the history that was read: a watcher may hold one that the store
   * has lost since, and has to learn that. Every revision has rows, so this one is either the floor or among the kept rows.
   */
  #firstAfter(revision: Revision): number | undefined {
    let low = 0;
    let high = this.#rows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#rows[middle] as LogRow).revision > revision) high = middle;
      else low = middle + 1;
    }
    return (this.#rows[low - 1]?.revision ?? this.#floor) === revision ? low : undefined;
  }
}

interface TailCalls {
  readonly waits: (reader: TailReader) => void;
  readonly leaves: (reader: TailReader) => void;
}

/** One watcher's position in the log. */
export class TailReader {
  readonly range: Range;
  readonly withValues: boolean;
  readonly #calls: TailCalls;
  #cursor: Revision;
  #mustRead = false;
  #wake: ((rows: readonly LogRow[] | undefined) => void) | undefined;

  constructor(range: Range, after: Revision, withValues: boolean, calls: TailCalls) {
    this.range = range;
    this.withValues = withValues;
    this.#calls = calls;
    this.#cursor = after;
  }

  /** Everything up to here was delivered or does not concern this watcher. */
  get cursor(): Revision {
    return this.#cursor;
  }

  get isWaiting(): boolean {
    return this.#wake !== undefined;
  }

  /** Waits for the next rows of the range. Undefined: read the log from `cursor`. */
  next(): Promise<readonly LogRow[] | undefined> {
    if (this.#mustRead) {
      this.#mustRead = false;
      return Promise.resolve(undefined);
    }
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#calls.waits(this);
    });
  }

  /** Moves on and, if there are rows, delivers them. */
  moveTo(through: Revision, rows: readonly LogRow[] = []): void {
    this.#cursor = Math.max(this.#cursor, through);
    if (rows.length > 0) this.#end(rows);
  }

  readItself(): void {
    if (this.#wake === undefined) this.#mustRead = true;
    else this.#end(undefined);
  }

  leave(): void {
    this.#calls.leaves(this);
    this.#end(undefined);
  }

  #end(rows: readonly LogRow[] | undefined): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.(rows);
  }
}
