import type { Revision } from "../../store/store.ts";
import type { Violation } from "./violation.ts";
import { Violations } from "./violation.ts";

/** What happened in the world, where effects take place. `effect` is the intended effect, whatever its record's id. */
export type WorldEvent =
  | { readonly what: "performed"; readonly effect: string; readonly id: string; readonly by: string; readonly answer: string; readonly wasRecorded: boolean }
  /** Its owner got the answer that its report is stored. */
  | { readonly what: "acknowledged"; readonly id: string; readonly by: string }
  /** A worker that wanted to do the effect got a stored answer instead. */
  | { readonly what: "repeated"; readonly effect: string; readonly id: string; readonly by: string; readonly answer: string | null; readonly isResolved: boolean }
  /** All that the list showed as unknown. */
  | { readonly what: "listed"; readonly revision: Revision; readonly nowMs: number; readonly unknown: readonly string[] };

/** What the log contains about records, the heartbeats of their owners and the claims they were begun under, in log order. */
export type EffectLogEvent =
  | {
      readonly what: "record";
      readonly revision: Revision;
      readonly atMs: number;
      readonly id: string;
      readonly op: "begin" | "finish" | "fail" | "unknown" | "resolve";
      readonly state: string;
      readonly run?: string;
      readonly by: string;
    }
  | { readonly what: "alive"; readonly revision: Revision; readonly id: string; readonly untilMs: number }
  | { readonly what: "silent" | "forgotten"; readonly revision: Revision; readonly id: string }
  | { readonly what: "claimed"; readonly revision: Revision; readonly run: string; readonly by: string }
  | { readonly what: "claim lives"; readonly revision: Revision; readonly run: string; readonly untilMs: number }
  | { readonly what: "unclaimed"; readonly revision: Revision; readonly run: string };

/**
 * G20 to G22, without policies: an effect happens at most once unless a caller reports that it did not; every unknown one is shown; a replaced worker begins nothing.
 */
export function checkEffects(world: readonly WorldEvent[], log: readonly EffectLogEvent[]): readonly Violation[] {
  const { violations, words, last } = checkRecords(log);
  return [...violations, ...checkWorld(world, words, last), ...checkLists(world, log)];
}

interface RecordAudit {
  readonly violations: readonly Violation[];
  /** How often an id was reported as not having taken effect, by its owner or by a caller of resolve. */
  readonly words: ReadonlyMap<string, number>;
  /** The state in which the log leaves each record. */
  readonly last: ReadonlyMap<string, string>;
}

function checkRecords(log: readonly EffectLogEvent[]): RecordAudit {
  const once = new Violations("G20");
  const fenced = new Violations("G22");
  const words = new Map<string, number>();
  const last = new Map<string, string>();
  const resolved = new Set<string>();
  const aliveUntil = new Map<string, number>();
  const claims = new Map<string, { by: string; untilMs: number }>();
  for (const event of log) {
    if (event.what === "alive") aliveUntil.set(event.id, event.untilMs);
    if (event.what === "silent") aliveUntil.delete(event.id);
    if (event.what === "forgotten") {
      last.delete(event.id);
      resolved.delete(event.id);
    }
    if (event.what === "claimed") claims.set(event.run, { by: event.by, untilMs: claims.get(event.run)?.untilMs ?? 0 });
    if (event.what === "claim lives") claims.set(event.run, { by: claims.get(event.run)?.by ?? "", untilMs: event.untilMs });
    if (event.what === "unclaimed") claims.delete(event.run);
    if (event.what !== "record") continue;
    const { id, op, state, by, revision, atMs, run } = event;
    const before = last.get(id);
    if (op === "begin") {
      if (before !== undefined && before !== "failed") once.add("begun_again_without_a_word", `${id}: ${by} began it again at revision ${revision}; it was ${before}.`);
      const claim = run === undefined ? undefined : claims.get(run);
      if (run !== undefined && claim?.by !== by) fenced.add("begun_by_replaced_worker", `${id}: ${by} began it at revision ${revision}; ${claim?.by ?? "no worker"} held ${run}.`);
      else if (claim !== undefined && atMs >= claim.untilMs)
        fenced.add("begun_under_a_lapsed_claim", `${id}: ${by} began it ${atMs - claim.untilMs} ms after its claim had lapsed.`);
      resolved.delete(id);
    } else {
      if (before === undefined) once.add("not_recorded_first", `${id}: ${by} ended it at revision ${revision}, but the log has no record of its beginning.`);
      if (resolved.has(id)) once.add("resolution_overwritten", `${id}: ${by} wrote ${op} at revision ${revision} after it had been resolved.`);
    }
    if (op === "resolve") {
      const untilMs = aliveUntil.get(id) ?? 0;
      if (untilMs > atMs) once.add("resolved_while_alive", `${id}: ${by} resolved it ${untilMs - atMs} ms before its owner counted as lost.`);
      if (before === "done" || before === "failed") once.add("resolved_though_known", `${id}: ${by} resolved it at revision ${revision}; it was ${before}.`);
      resolved.add(id);
    }
    if (state === "failed") words.set(id, (words.get(id) ?? 0) + 1);
    last.set(id, state);
  }
  return { violations: [...once.list(), ...fenced.list()], words, last };
}

function checkWorld(world: readonly WorldEvent[], words: ReadonlyMap<string, number>, last: ReadonlyMap<string, string>): readonly Violation[] {
  const violations = new Violations("G20");
  const performed = new Map<string, { readonly id: string; readonly by: string; readonly answer: string }[]>();
  for (const event of world) {
    if (event.what !== "performed") continue;
    performed.set(event.effect, [...(performed.get(event.effect) ?? []), event]);
    if (!event.wasRecorded) violations.add("not_recorded_first", `${event.effect}: ${event.by} performed it before ${event.id} was on record.`);
  }
  for (const [effect, times] of performed) {
    const allowed = 1 + [...new Set(times.map(({ id }) => id))].reduce((sum, id) => sum + (words.get(id) ?? 0), 0);
    if (times.length > allowed)
      violations.add(
        "performed_twice",
        `${effect} took place ${times.length} times (${times.map(({ by, id }) => `${by} as ${id}`).join(", ")}); ${allowed - 1} reports of failure allowed it.`,
      );
  }
  for (const event of world) {
    if (event.what === "acknowledged" && last.get(event.id) !== "done")
      violations.add("done_record_lost", `${event.id}: ${event.by} got the answer that its report is stored, but the record is ${last.get(event.id) ?? "gone"}.`);
    if (event.what !== "repeated" || event.isResolved) continue;
    const answers = (performed.get(event.effect) ?? []).map(({ answer }) => answer);
    if (answers.length === 0) violations.add("answered_without_effect", `${event.effect}: ${event.by} got the answer that it is done, but it never took place.`);
    else if (event.answer === null || !answers.includes(event.answer))
      violations.add("wrong_answer", `${event.effect}: ${event.by} was given ${JSON.stringify(event.answer)}; the effect had returned ${answers.join(" and ")}.`);
  }
  return violations.list();
}

function checkLists(world: readonly WorldEvent[], log: readonly EffectLogEvent[]): readonly Violation[] {
  const violations = new Violations("G21");
  for (const listed of world) {
    if (listed.what !== "listed") continue;
    const expected = unknownAt(log, listed.revision, listed.nowMs);
    for (const id of expected) if (!listed.unknown.includes(id)) violations.add("unknown_hidden", `${id} was unknown at revision ${listed.revision} and was not listed.`);
    for (const id of listed.unknown) if (!expected.has(id)) violations.add("shown_though_known", `${id} was listed as unknown at revision ${listed.revision}; it was not.`);
  }
  return violations.list();
}

function unknownAt(log: readonly EffectLogEvent[], revision: Revision, nowMs: number): ReadonlySet<string> {
  const open = new Set<string>();
  const aliveUntil = new Map<string, number>();
  for (const event of log) {
    if (event.revision > revision) break;
    if (event.what === "alive") aliveUntil.set(event.id, event.untilMs);
    if (event.what === "silent") aliveUntil.delete(event.id);
    if (event.what === "forgotten") open.delete(event.id);
    if (event.what !== "record") continue;
    if (event.state === "intended" || event.state === "unknown") open.add(event.id);
    else open.delete(event.id);
  }
  return new Set([...open].filter((id) => (aliveUntil.get(id) ?? 0) <= nowMs));
}
