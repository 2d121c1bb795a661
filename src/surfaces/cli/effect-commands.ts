import type { EffectState } from "../../domain/effects/effect.ts";
import { effectStates } from "../../domain/effects/effect.ts";
import type { EffectDetail } from "../../domain/effects/find-effects.ts";
import { listEffects, readEffect } from "../../domain/effects/find-effects.ts";
import { resolveEffect } from "../../domain/effects/resolve-effect.ts";
import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { mustBeOneOf } from "../../kernel/nearest.ts";
import { fromCursor, listOf, toCursor } from "../../tools/cursor.ts";
import { effectAnswer } from "../../tools/effect-tools.ts";
import { withoutSecrets } from "../../tools/secret-switch.ts";
import type { CliRuntime, Command, Invocation } from "./command.ts";
import { exitCodes } from "./command.ts";
import { effectCommand } from "./effect-command.ts";
import { listCommand } from "./list-command.ts";
import { renderResult } from "./render-result.ts";
import { safeText, styleFor } from "./terminal-text.ts";

const idMeaning = { name: "id", meaning: "The effect's id as effect list shows it: fx- and 20 hexadecimal digits." } as const;

const effectListCommand = listCommand({
  path: ["effect", "list"],
  summary: "List effects: unknown outcomes first, then those in flight, then the newest",
  details: "An unknown effect was begun, and it is not known whether it took effect. Find out, then use holdfast effect resolve.",
  filters: [
    { name: "state", takes: "STATE", choices: effectStates, meaning: `Only effects in this state: ${effectStates.join(", ")}.` },
    { name: "run", takes: "ID", meaning: "Only effects of this run." },
  ],
  examples: ["holdfast effect list", "holdfast effect list --state unknown"],
  async read({ base }, { limit, cursor, filter }) {
    const list = listOf("effects", filter);
    const { effects, next } = await listEffects(base, {
      state: filter.state as EffectState | undefined,
      run: filter.run,
      limit,
      after: cursor === undefined ? undefined : fromCursor(list, cursor),
    });
    return { effects: effects.map(effectAnswer), cursor: next === undefined ? null : toCursor(list, next) };
  },
});

const effectShowCommand: Command = {
  path: ["effect", "show"],
  summary: "Show one effect with its answer or error",
  operands: "<id>",
  operandMeanings: [idMeaning],
  flags: [],
  examples: ["holdfast effect show fx-0123456789abcdef0123"],
  async run({ host, flags, words, json }) {
    const id = idIn(words);
    await using runtime = await host.open(flags, { onlyLooks: true });
    const answer = effectAnswer(await requireDetail(runtime, id));
    const style = styleFor(host.stdout, runtime.config.colourAllowed, runtime.base.clock.nowMs());
    host.stdout.write(json ? `${JSON.stringify(answer)}\n` : renderResult(answer, style));
    return exitCodes.ok;
  },
};

const words = ["done", "failed"] as const;

const effectResolveCommand: Command = {
  path: ["effect", "resolve"],
  summary: "Record what happened to an effect whose outcome is unknown",
  details:
    "Only an unknown effect can be resolved: not one whose owner is alive, and not one that has ended. With --as done, a repeat is answered from the record and nothing is done. --as failed says that it did not take effect, so it may be done again.",
  operands: "<id> --as done|failed",
  operandMeanings: [idMeaning],
  flags: [
    { name: "as", takes: "WORD", choices: words, meaning: "done: it took effect. failed: it did not." },
    { name: "token", takes: "TOKEN", meaning: "The token of the attempt that you looked at, from effect show. If the effect was begun again since, nothing is changed." },
    { name: "reason", takes: "TEXT", meaning: "How you found out, for those who read the record later." },
  ],
  examples: ['holdfast effect resolve fx-0123456789abcdef0123 --as done --reason "on the bank statement"'],
  async run({ host, flags, words: idWords, json }) {
    const id = idIn(idWords);
    const as = words.find((word) => word === flags.as);
    if (as === undefined) throw invalidInput("--as", flags.as === undefined ? "required: done or failed" : mustBeOneOf(String(flags.as), words));
    if (flags.token !== undefined && !/^[1-9]\d{0,15}$/.test(String(flags.token))) throw invalidInput("--token", "must be the token of the attempt, as effect show prints it");
    const token = flags.token === undefined ? undefined : Number(flags.token);
    await using runtime = await host.open(flags, { onlyLooks: true });
    const { base, config } = runtime;
    if (config.readOnly) throw new HoldfastError("read_only", "effect resolve changes the store, and this command was started read-only.");
    const given = typeof flags.reason === "string" ? { reason: flags.reason } : {};
    const reason = base.server.secrets === undefined ? given : withoutSecrets(given, base.server.secrets);
    await resolveEffect({ ...base, agent: config.agent }, { id, as, token, ...reason });
    const answer = effectAnswer(await requireDetail(runtime, id));
    if (json) host.stdout.write(`${JSON.stringify(answer)}\n`);
    else host.stdout.write(`Effect ${safeText(JSON.stringify(answer.name ?? id))} is resolved as ${as}${as === "failed" ? "; it may be done again" : ""}.\n`);
    return exitCodes.ok;
  },
};

function idIn(given: Invocation["words"]): string {
  const [id, ...others] = given;
  if (id === undefined || others.length > 0) throw invalidInput("<id>", "must be the id of one effect");
  return id;
}

async function requireDetail({ base }: CliRuntime, id: string): Promise<EffectDetail> {
  const known = await readEffect(base, id);
  if (known === undefined) throw new HoldfastError("not_found", `There is no effect ${JSON.stringify(id)}.`, { hint: "holdfast effect list shows the effects.", details: { id } });
  return known;
}

export const effectCommands: readonly Command[] = [effectCommand, effectListCommand, effectShowCommand, effectResolveCommand];
