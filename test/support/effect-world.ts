import type { BeginInput, BegunEffect, EffectGuard } from "../../src/domain/effects/begin-effect.ts";
import { beginEffect } from "../../src/domain/effects/begin-effect.ts";
import { listEffects, readEffect } from "../../src/domain/effects/find-effects.ts";
import { finishEffect } from "../../src/domain/effects/finish-effect.ts";
import type { EffectIdentity } from "../../src/domain/effects/identity.ts";
import { resolveEffect } from "../../src/domain/effects/resolve-effect.ts";
import { workflowKeys } from "../../src/domain/keyspace.ts";
import { claimRun } from "../../src/domain/workflows/claims.ts";
import { createRun } from "../../src/domain/workflows/workflows.ts";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import type { Scope } from "../../src/store/transact.ts";
import type { WorldEvent } from "../../src/verify/checkers/effects.ts";
import { checkEffects } from "../../src/verify/checkers/effects.ts";
import type { Violation } from "../../src/verify/checkers/violation.ts";
import { effectEvents } from "../../src/verify/effect-events.ts";
import { readWholeLog } from "../../src/verify/read-whole.ts";
import { openScope } from "./scope.ts";

/** What stands between workers and the world; a test plants its defects here. */
export interface EffectJournal {
  readonly begin: typeof beginEffect;
  readonly finish: typeof finishEffect;
  readonly resolve: typeof resolveEffect;
  readonly list: typeof listEffects;
  /** What the worker takes for the effect's identity. */
  readonly identify: (identity: EffectIdentity) => EffectIdentity;
}

export const honestJournal: EffectJournal = { begin: beginEffect, finish: finishEffect, resolve: resolveEffect, list: listEffects, identify: (identity) => identity };

const liveMs = 1_000;
type Crash = "before the call" | "after the call";

/** A world in which effects take place and workers die, under a clock that the story moves. */
class World {
  readonly scope = openScope();
  readonly #journal: EffectJournal;
  readonly #events: WorldEvent[] = [];

  constructor(journal: EffectJournal) {
    this.#journal = journal;
  }

  #as = (by: string): Scope => ({ ...this.scope, writer: by, agent: by });

  /** A worker wants an effect: it does it, or takes what it is told instead, or dies in between. */
  async want(by: string, identity: EffectIdentity, { crash, guard }: { readonly crash?: Crash; readonly guard?: EffectGuard } = {}): Promise<void> {
    const begun = await this.begin(by, identity, guard);
    if (begun?.outcome === "begun" && crash !== "before the call") await this.perform(by, identity, begun, crash);
  }

  async begin(by: string, identity: EffectIdentity, guard?: EffectGuard): Promise<BegunEffect | undefined> {
    const input: BeginInput = { identity: this.#journal.identify(identity), guard, liveMs };
    const begun = await this.#journal.begin(this.#as(by), input).catch(refused);
    if (begun?.outcome === "done")
      this.#events.push({ what: "repeated", effect: effectOf(identity), id: begun.id, by, answer: begun.answer as string | null, isResolved: begun.resolved !== undefined });
    return begun;
  }

  async perform(by: string, identity: EffectIdentity, { id, token }: { readonly id: string; readonly token: number }, crash?: Crash): Promise<void> {
    const answer = `${by} did ${effectOf(identity)}`;
    const wasRecorded = (await readEffect(this.scope, id)) !== undefined;
    this.#events.push({ what: "performed", effect: effectOf(identity), id, by, answer, wasRecorded });
    if (crash === "after the call") return;
    const finished = await this.#journal.finish(this.#as(by), { id, token, outcome: { state: "done", answer } }).catch(refused);
    if (finished !== undefined) this.#events.push({ what: "acknowledged", id, by });
  }

  /** Somebody looks at the list, and resolves what is in it, or something else. */
  async look(): Promise<readonly string[]> {
    const { effects, revision, nowMs } = await this.#journal.list(this.scope, { state: "unknown", limit: 100 });
    const unknown = effects.map(({ id }) => id);
    this.#events.push({ what: "listed", revision, nowMs, unknown });
    return unknown;
  }

  async resolve(id: string, as: "done" | "failed"): Promise<void> {
    await this.#journal.resolve(this.#as("person"), { id, as, reason: "looked" }).catch(refused);
  }

  /** A person who knows the world resolves all that is unknown. */
  async resolveTruly(): Promise<void> {
    for (const id of await this.look()) await this.resolve(id, this.#events.some((event) => event.what === "performed" && event.id === id) ? "done" : "failed");
  }

  async claim(by: string, runId: string): Promise<EffectGuard> {
    const claim = await claimRun(this.#as(by), { runId, agentId: by, ttlMs: 500 });
    return { resource: workflowKeys.resource(runId), token: claim.ok ? claim.token : 0 };
  }

  async judge(): Promise<readonly Violation[]> {
    const { rows } = await readWholeLog(this.scope.store);
    return checkEffects(this.#events, effectEvents(rows));
  }
}

const effectOf = ({ run = "", step = "", name, args }: EffectIdentity): string => `${run} ${step} ${name ?? ""} ${JSON.stringify(args)}`.trim();

/** A refusal is an answer here; anything else is a mistake of the story. */
function refused(error: unknown): undefined {
  if (!isHoldfastError(error)) throw error;
  return undefined;
}

const pay = (name: string, amount = 10): EffectIdentity => ({ name, tool: "pay", args: { amount } });

/** Everything that goes wrong in a world with effects, once; what the audit finds in it. */
export async function playEffects(journal: EffectJournal): Promise<readonly string[]> {
  const world = new World(journal);
  const { clock } = world.scope;
  // Done, and asked for again by others.
  await world.want("a", pay("first"));
  await world.want("b", pay("first"));
  clock.advance(60_000);
  await world.want("c", pay("first"));
  // The same name for something else.
  await world.want("b", pay("first", 11));
  // Owners that die before or after the call.
  await world.want("a", pay("lost before"), { crash: "before the call" });
  await world.want("a", pay("lost after"), { crash: "after the call" });
  await world.look();
  clock.advance(2_000);
  for (const name of ["lost before", "lost after"]) await world.want("b", pay(name));
  await world.resolveTruly();
  for (const name of ["lost before", "lost after"]) await world.want("c", pay(name));
  // In flight while its worker, or another one, starts again.
  const running = await world.begin("a", pay("running"));
  await world.want("a", pay("running"));
  await world.want("b", pay("running"));
  if (running?.outcome === "begun") await world.resolve(running.id, "failed");
  await world.look();
  if (running?.outcome === "begun") await world.perform("a", pay("running"), running);
  if (running !== undefined) await world.resolve(running.id, "failed");
  // Slow: somebody has spoken before it reports.
  const slow = await world.begin("a", pay("slow"));
  clock.advance(2_000);
  if (slow !== undefined) await world.resolve(slow.id, "failed");
  if (slow?.outcome === "begun") await world.perform("a", pay("slow"), slow);
  // A worker that is replaced, and one whose claim has lapsed.
  await createRun(world.scope, { name: "run", runId: "run" });
  const former = await world.claim("a", "run");
  clock.advance(500);
  await world.want("a", { run: "run", step: 1, tool: "post", args: 1 }, { guard: former });
  const current = await world.claim("b", "run");
  await world.want("a", { run: "run", step: 2, tool: "post", args: 2 }, { guard: former });
  await world.want("b", { run: "run", step: 2, tool: "post", args: 2 }, { guard: current });
  // Nobody comes back for a long time.
  await world.want("a", pay("left behind"), { crash: "after the call" });
  clock.advance(400 * 86_400_000);
  await world.want("b", pay("left behind"));
  await world.look();
  return [...new Set((await world.judge()).map(({ guarantee, fault }) => `${guarantee} ${fault}`))].sort();
}
