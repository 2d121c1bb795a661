import * as z from "zod";
import { effectStates } from "../domain/effects/effect.ts";
import type { EffectDetail } from "../domain/effects/find-effects.ts";
import { listEffects, readEffect } from "../domain/effects/find-effects.ts";
import { resolveEffect } from "../domain/effects/resolve-effect.ts";
import { HoldfastError, invalidInput } from "../kernel/errors.ts";
import { cursor, fromCursor, listOf, toCursor } from "./cursor.ts";
import { key, text, time, timeOrNull, toSeconds, toSecondsOrNull } from "./fields.ts";
import { defineTool } from "./tool.ts";

const pageSize = 50;

const effect = z.strictObject({
  id: z.string(),
  state: z.enum(effectStates),
  tool: z.string(),
  name: z.string().nullable(),
  run_id: z.string().nullable(),
  step: z.union([z.int(), z.string()]).nullable(),
  args: z.string(),
  attempts: z.int(),
  token: z.int(),
  agent_id: z.string().nullable(),
  begun_at: time,
  live_until: timeOrNull,
  ended_at: timeOrNull,
  reason: z.string().nullable(),
  resolved_by: z.string().nullable(),
  answer: z.unknown().optional(),
});

export const effects = defineTool({
  name: "effects",
  title: "Effects",
  description:
    "What reached outside and must not happen twice (payments, mails), unknown first. Repeat none that is done, intended or unknown. id: one, with its answer; with as, token, reason: resolve an unknown one after finding out (failed: it did not happen).",
  toolset: "effects",
  effect: "write-idempotent",
  input: z.strictObject({
    id: key.optional(),
    as: z.enum(["done", "failed"]).optional(),
    token: z.int().optional(),
    reason: text.optional(),
    run_id: key.optional(),
    cursor: cursor.optional(),
  }),
  output: z.strictObject({ effects: z.array(effect), cursor: z.string().nullable() }),
  positional: ["id"],
  // An id that came out empty must not list all of them.
  keepsEmpty: ["id"],
  onlyReads: ({ as }) => as === undefined,
  async handle(context, { id, as, token, reason, ...query }) {
    if (id === undefined) {
      if (as !== undefined) throw invalidInput("id", "required with as: the effect that you speak of");
      const list = listOf("effects", { run_id: query.run_id });
      const after = query.cursor === undefined ? undefined : fromCursor(list, query.cursor);
      const page = await listEffects(context, { run: query.run_id, limit: pageSize, after });
      return { effects: page.effects.map(effectAnswer), cursor: page.next === undefined ? null : toCursor(list, page.next) };
    }
    for (const name of ["run_id", "cursor"] as const) if (query[name] !== undefined) throw invalidInput(name, "allowed only without id");
    if (as !== undefined) await resolveEffect(context, { id, as, token, reason });
    const known = await readEffect(context, id);
    if (known === undefined) throw new HoldfastError("not_found", `There is no effect ${JSON.stringify(id)}.`, { hint: "Call effects without id.", details: { id } });
    return { effects: [effectAnswer(known)], cursor: null };
  },
});

/** An effect as callers read it. */
export const effectAnswer = (known: EffectDetail) => ({
  id: known.id,
  state: known.state,
  tool: known.tool,
  name: known.name ?? null,
  run_id: known.run ?? null,
  step: known.step ?? null,
  args: known.args,
  attempts: known.attempts,
  token: known.token,
  agent_id: known.agent ?? null,
  begun_at: toSeconds(known.begunAtMs),
  live_until: toSecondsOrNull(known.liveUntilMs),
  ended_at: toSecondsOrNull(known.endedAtMs),
  reason: known.reason ?? null,
  resolved_by: known.resolved === undefined ? null : known.resolved === "policy" ? "policy" : known.writer,
  ...(known.answer === undefined ? {} : { answer: known.answer }),
});

export const effectTools = [effects];
