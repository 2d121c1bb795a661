import * as z from "zod";
import { effectStates } from "../../domain/effects/effect.ts";
import type { EffectView } from "../../domain/effects/find-effects.ts";
import { listEffects, readEffect } from "../../domain/effects/find-effects.ts";
import { resolveEffect } from "../../domain/effects/resolve-effect.ts";
import { requireRunId } from "../../domain/workflows/workflows.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import { limits } from "../../store/limits.ts";
import { fromCursor, listOf, toCursor } from "../../tools/cursor.ts";
import { key } from "../../tools/fields.ts";
import { withoutSecrets } from "../../tools/secret-switch.ts";
import type { EffectResolution, EffectRow, EffectShown, EffectsAnswer } from "./api.ts";
import type { ApiRoute } from "./api-route.ts";
import { readBody } from "./read-body.ts";
import { oneOf, pageSize, readQuery, requiredText, text } from "./read-query.ts";

const cursorBytesMax = 2_048;
const reasonCharactersMax = 1_000;

/** The page shows every member of a listed effect except where it was begun: a member that the row lacks does not compile. */
export const toEffectRow = ({ workspace: _, ...effect }: EffectView): EffectRow => {
  const shown: EffectRow = effect;
  return shown;
};

const effects: ApiRoute = {
  method: "GET",
  path: "/api/ns/:namespace/effects",
  needs: "read",
  async handle({ base, query }) {
    const { state, run, cursor, limit } = readQuery(query, {
      state: oneOf(effectStates),
      run: text(limits.keyBytesMax),
      cursor: text(cursorBytesMax),
      limit: pageSize({ default: 50, max: 200 }),
    });
    if (run !== undefined) requireRunId(run, "run");
    const list = listOf("effects", { state, run });
    const page = await listEffects(base, { state, run, limit, after: cursor === undefined ? undefined : fromCursor(list, cursor) });
    const answer: EffectsAnswer = { nowMs: page.nowMs, effects: page.effects.map(toEffectRow), ...(page.next === undefined ? {} : { next: toCursor(list, page.next) }) };
    return { json: answer };
  },
};

const effect: ApiRoute = {
  method: "GET",
  path: "/api/ns/:namespace/effect",
  needs: "read",
  async handle({ base, query }) {
    const { id } = readQuery(query, { id: requiredText(limits.keyBytesMax) });
    const known = await readEffect(base, id);
    if (known === undefined) throw new HoldfastError("not_found", `There is no effect ${JSON.stringify(id)}.`, { hint: "Ended ones are kept for a time only.", details: { id } });
    const { answer, answerKept, ...view } = known;
    const shown: EffectShown = { effect: toEffectRow(view), ...(answer === undefined ? {} : { answer, answerKept }) };
    return { json: shown };
  },
};

const resolveBody = z.strictObject({ id: key, as: z.enum(["done", "failed"]), token: z.int(), reason: z.string().max(reasonCharactersMax).optional() });

const resolve: ApiRoute = {
  method: "POST",
  path: "/api/ns/:namespace/effects/resolve",
  needs: "write",
  async handle(request) {
    readQuery(request.query, {});
    const given = await readBody(request, "effects/resolve", resolveBody);
    const { secrets } = request.base.server;
    const { reason } = secrets === undefined ? given : withoutSecrets({ reason: given.reason }, secrets);
    const { state } = await resolveEffect(request.base, { ...given, reason });
    const answer: EffectResolution = { state };
    return { json: answer };
  },
};

export const effectRoutes: readonly ApiRoute[] = [effects, effect, resolve];
