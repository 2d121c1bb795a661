import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import { keyRange, rangeAfter, rangeBefore } from "../../store/ranges.ts";
import { readTogether } from "../../store/read-together.ts";
import type { Entry, Range, Revision, Store } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { effectKeys } from "../keyspace.ts";
import { object, optional, storedAs, string } from "../stored-record.ts";
import type { EffectRecord, EffectState, StoredEffect } from "./effect.ts";
import { effectIn, effectRanges, shownState } from "./effect.ts";
import { requireEffectId } from "./identity.ts";

/** An effect as callers see it. */
export interface EffectView
  extends Pick<EffectRecord, "state" | "scope" | "run" | "step" | "ordinal" | "tool" | "name" | "args" | "workspace" | "attempts" | "reason" | "resolved"> {
  readonly id: string;
  /** Identifies the last attempt: pass it to resolve what was looked at, and nothing else. */
  readonly token: Revision;
  /** When the last attempt began, and who began it. */
  readonly begunAtMs: number;
  readonly agent?: string;
  /** Until when the owner of an intended effect counts as alive. */
  readonly liveUntilMs?: number;
  readonly endedAtMs?: number;
  /** When the record expires; undefined until the effect ends. */
  readonly keptUntilMs?: number;
  /** The last writer of the record: the owner, or the caller that resolved the effect. */
  readonly writer: string;
}

/** An effect with its result: the answer if it is done, the error if it failed. */
export interface EffectDetail extends EffectView {
  readonly answer?: Json;
  readonly answerKept?: boolean;
}

export async function readEffect({ store }: Pick<Scope, "store">, id: string): Promise<EffectDetail | undefined> {
  requireEffectId(id);
  const known = effectIn(await store.read(effectRanges(id)), id);
  return known && { ...toView(known), answer: known.outcome?.value, answerKept: known.outcome?.kept };
}

export async function requireEffect({ store }: Pick<Scope, "store">, id: string): Promise<StoredEffect & { readonly nowMs: number }> {
  const snapshot = await store.read(effectRanges(id));
  const known = effectIn(snapshot, id);
  if (known === undefined)
    throw new HoldfastError("not_found", `There is no effect ${JSON.stringify(id)}.`, { hint: "List the effects; ended ones are kept for a time only.", details: { id } });
  return { ...known, nowMs: snapshot.nowMs };
}

function toView(known: StoredEffect): EffectView {
  const { id, record, entry, token, begunAtMs, liveUntilMs } = known;
  const { scope, run, step, ordinal, tool, name, args, workspace, attempts, reason, resolved, endedAtMs, begunBy } = record;
  return {
    id,
    token,
    state: shownState(known),
    scope,
    run,
    step,
    ordinal,
    tool,
    name,
    args,
    workspace,
    attempts,
    begunAtMs,
    agent: begunBy ?? entry.agent,
    liveUntilMs,
    endedAtMs,
    keptUntilMs: entry.expiresAtMs,
    reason,
    resolved,
    writer: entry.writer,
  };
}

export interface EffectQuery {
  readonly state?: EffectState;
  readonly run?: string;
  readonly limit: number;
  /** `next` of the previous page. */
  readonly after?: string;
}

export interface EffectPage {
  readonly effects: readonly EffectView[];
  /** Pass it as `after` to get the next page; undefined on the last page. A page may be empty and still have a next one. */
  readonly next?: string;
  /** The revision and time to which this page refers. */
  readonly revision: Revision;
  readonly nowMs: number;
}

/** The parts of a listing, in order: the open effects by state, then the ended ones. */
const parts = ["unknown", "intended", "ended"] as const;
type Part = (typeof parts)[number];

/** Where a listing continues: after the last effect listed from the current batch. */
interface EffectPosition {
  readonly part: Part;
  /** Open effects are read in batches of `lotSize`; the current batch begins after this id. */
  readonly lot: string;
  readonly atMs: number;
  readonly id: string;
}

/** How many open effects are read and sorted by age together. Larger stores are listed batch by batch. */
const lotSize = 1_000;
/** Reads per page: a filter that matches few effects must not make a call unbounded. */
const readsMax = 8;

/** Lists unknown effects first, then those in flight, both oldest first; then ended effects, newest first. */
export const listEffects = ({ store }: Pick<Scope, "store">, query: EffectQuery): Promise<EffectPage> => readTogether(store, (together) => readPage(together, query));

async function readPage(store: Store, query: EffectQuery): Promise<EffectPage> {
  const effects: EffectView[] = [];
  let position: EffectPosition | undefined = query.after === undefined ? { part: parts[0], lot: "", atMs: -1, id: "" } : parsePosition(query.after);
  for (let reads = 0; position !== undefined && effects.length < query.limit && reads < readsMax; reads += 1) {
    const wanted = { ...query, limit: query.limit - effects.length };
    const page: Slice = !isWanted(position.part, query.state)
      ? { effects: [], next: partAfter(position.part) }
      : position.part === "ended"
        ? await readEnded(store, wanted, position)
        : await readOpen(store, wanted, position);
    effects.push(...page.effects);
    position = page.next;
  }
  const { revision, nowMs } = await store.position();
  return { effects, next: position && positionText(position), revision, nowMs };
}

interface Slice {
  readonly effects: readonly EffectView[];
  readonly next?: EffectPosition;
}

const isWanted = (part: Part, state: EffectState | undefined): boolean => state === undefined || (state === "done" || state === "failed" ? part === "ended" : part === state);

function partAfter(part: Part): EffectPosition | undefined {
  const next = parts[parts.indexOf(part) + 1];
  return next && { part: next, lot: "", atMs: -1, id: "" };
}

/** An effect that has not ended, as the index of open effects has it. */
interface OpenEffect {
  readonly id: string;
  /** When the last attempt began. */
  readonly sinceMs: number;
  readonly run?: string;
  readonly workspace?: string;
  /** True while the owner counts as alive. */
  readonly isLive: boolean;
}

const toOpenValue = storedAs(object<{ readonly run?: string; readonly workspace?: string }>({ run: optional(string), workspace: optional(string) }));

/** Returns the next batch of open effects after an id, oldest first. `last` is the batch's last id if more effects follow. */
async function readOpenEffects({ store }: Pick<Scope, "store">, after = ""): Promise<{ readonly open: readonly OpenEffect[]; readonly last?: string }> {
  const { entries, more } = await store.read(after === "" ? effectKeys.opens : rangeAfter(effectKeys.opens, effectKeys.open(after)), { limit: lotSize });
  if (entries.length === 0) return { open: [] };
  const ids = entries.map(({ key }) => effectKeys.idOf(key));
  const lives: Range = { start: effectKeys.live(ids[0] as string), end: `${effectKeys.live(ids.at(-1) as string)}\0` };
  const { entries: live } = await store.read(lives, { limit: lotSize, values: false });
  return { open: openEffectsIn(entries, live), last: more ? ids.at(-1) : undefined };
}

/** Combines the index of open effects with the live keys, oldest first. */
export function openEffectsIn(open: readonly Entry[], lives: readonly Entry[]): readonly OpenEffect[] {
  const live = new Set(lives.map(({ key }) => effectKeys.idOf(key)));
  return open
    .map((entry): OpenEffect => {
      const id = effectKeys.idOf(entry.key);
      return { id, sinceMs: entry.updatedAtMs, ...toOpenValue(entry), isLive: live.has(id) };
    })
    .sort(byAge);
}

const byAge = (a: Pick<OpenEffect, "sinceMs" | "id">, b: Pick<OpenEffect, "sinceMs" | "id">): number => a.sinceMs - b.sinceMs || (a.id < b.id ? -1 : Number(a.id > b.id));

async function readOpen(store: Store, { run, limit }: EffectQuery, position: EffectPosition): Promise<Slice> {
  const { part, lot, atMs, id } = position;
  const { open, last } = await readOpenEffects({ store }, lot);
  const fitting = open.filter((each) => each.isLive === (part === "intended") && (run === undefined || each.run === run) && byAge(each, { sinceMs: atMs, id }) > 0);
  const shown = fitting.slice(0, limit);
  const effects = await readViews(
    store,
    shown.map((each) => each.id),
  );
  const end = shown.at(-1);
  if (end !== undefined && fitting.length > shown.length) return { effects, next: { part, lot, atMs: end.sinceMs, id: end.id } };
  return { effects, next: last === undefined ? partAfter(part) : { part, lot: last, atMs: -1, id: "" } };
}

async function readEnded(store: Store, { state, run, limit }: EffectQuery, position: EffectPosition): Promise<Slice> {
  const keyOf = (atMs: number, id: string): string => (run === undefined ? effectKeys.ended.key(atMs, id) : effectKeys.endedIn.key(run, atMs, id));
  const range = run === undefined ? effectKeys.ended.range : effectKeys.endedIn.range(run);
  const { entries, more } = await store.read(position.id === "" ? range : rangeBefore(range, keyOf(position.atMs, position.id)), { limit, reverse: true, values: false });
  const views = await readViews(
    store,
    entries.map(({ key }) => effectKeys.idOf(key)),
  );
  const end = entries.at(-1);
  return {
    effects: state === undefined ? views : views.filter((view) => view.state === state),
    next: more && end !== undefined ? { part: "ended", lot: "", atMs: effectKeys.endedAtOf(end.key), id: effectKeys.idOf(end.key) } : undefined,
  };
}

const readAtOnce = 300;

async function readViews(store: Store, ids: readonly string[]): Promise<readonly EffectView[]> {
  const views: EffectView[] = [];
  for (let start = 0; start < ids.length; start += readAtOnce) {
    const page = ids.slice(start, start + readAtOnce);
    const { entries } = await store.read(page.flatMap((id) => [keyRange(effectKeys.record(id)), keyRange(effectKeys.live(id))]));
    const byKey = new Map(entries.map((entry) => [entry.key, entry]));
    for (const id of page) {
      const known = effectIn({ entries: [effectKeys.record(id), effectKeys.live(id)].flatMap((key) => byKey.get(key) ?? []) }, id);
      if (known !== undefined) views.push(toView(known));
    }
  }
  return views;
}

const positionText = ({ part, lot, atMs, id }: EffectPosition): string => [part, lot, atMs, id].join("/");

function parsePosition(text: string): EffectPosition {
  const [part, lot, at, id] = text.split("/");
  const known = parts.find((each) => each === part);
  const atMs = Number(at);
  if (known === undefined || lot === undefined || id === undefined || !Number.isSafeInteger(atMs)) throw invalidInput("after", "must be the `next` of the page before");
  return { part: known, lot, atMs, id };
}
