import type { Clock } from "../kernel/clock.ts";
import { HoldfastError, isHoldfastError } from "../kernel/errors.ts";
import type { Json } from "../kernel/json.ts";
import type { Check, Committed, FailedCheck, RequestKey, Revision, Store, Write } from "./store.ts";

/** The caller and its store: the context of every operation above the store interface. */
export interface Scope {
  readonly store: Store;
  readonly clock: Clock;
  /** The authenticated principal, as recorded in history. */
  readonly writer: string;
  /** The label that the caller chose for itself. */
  readonly agent?: string;
  readonly request?: RequestKey;
  readonly signal?: AbortSignal;
}

/** Either an answer that needs no write, or one commit and the note needed to answer after it. */
export type Decision<Note extends Json, Answer> = { readonly answer: Answer } | { readonly checks: readonly Check[]; readonly writes: readonly Write[]; readonly note: Note };

export interface Operation<Note extends Json, Answer> {
  /** Reads its input and decides; called again after a conflict. */
  decide(attempt: number): Promise<Decision<Note, Answer>> | Decision<Note, Answer>;
  /** The answer, built only from the note and the commit's outcome, so that a replay returns the first answer again. */
  finish(note: Note, committed: Committed): Answer;
  /** Returns a refusal as the answer (or throws); undefined: decide again. `at`: the revision at which the checks failed. */
  refused?(failed: readonly FailedCheck[], at: Revision): Promise<Answer | undefined> | Answer | undefined;
}

const attemptsMax = 64;
/** In characters of JSON. */
const rememberedAnswerMax = 65_536;

/**
 * Reads, decides and commits once; after a conflict, tries again a limited number of times. With a request key, a commit whose answer was lost is sent once more,
 * which cannot have a second effect.
 */
export async function transact<Note extends Json, Answer>(scope: Scope, operation: Operation<Note, Answer>): Promise<Answer> {
  try {
    return await attempt(scope, operation);
  } catch (error) {
    if (scope.request === undefined || !isHoldfastError(error, "outcome_unknown")) throw error;
    try {
      return await attempt(scope, operation);
    } catch (again) {
      // The outcome of the second try says nothing about the first one, which may have taken effect or may still do so.
      throw isHoldfastError(again, "request_key_reused") ? again : error;
    }
  }
}

async function attempt<Note extends Json, Answer>(scope: Scope, operation: Operation<Note, Answer>): Promise<Answer> {
  const { store, request } = scope;
  if (request !== undefined) {
    const known = await store.readRequest(request.key);
    if (known !== undefined) {
      if (known.fingerprint !== request.fingerprint) throw requestKeyReused(request);
      return replay(operation, known.outcome);
    }
  }
  for (let tries = 0; tries < attemptsMax; tries += 1) {
    const decision = await operation.decide(tries);
    if ("answer" in decision) return settle(scope, operation, decision.answer);
    const result = await store.commit({
      checks: decision.checks,
      writes: decision.writes,
      writer: scope.writer,
      agent: scope.agent,
      request: request && { ...request, note: { note: decision.note } },
    });
    if (result.ok) return result.replayed ? replay(operation, result) : operation.finish(decision.note, result);
    if (result.reason === "request_key_reused") throw requestKeyReused(request as RequestKey);
    const answer = await operation.refused?.(result.failed, result.revision);
    if (answer !== undefined) return settle(scope, operation, answer);
    // The first retries do not wait; later ones give other writers a little time.
    if (tries >= 3) await scope.clock.sleep(Math.min(tries, 10), scope.signal);
  }
  throw new HoldfastError("conflict", `Other writers won ${attemptsMax} times in a row; nothing was changed.`, { hint: "Try again." });
}

/** An answer without effect is stored under its request key too, so that a retry cannot have an effect. */
async function settle<Note extends Json, Answer>(scope: Scope, operation: Operation<Note, Answer>, answer: Answer): Promise<Answer> {
  const { store, request } = scope;
  if (request === undefined) return answer;
  const text = JSON.stringify(answer);
  // A refusal may include the entry that caused it and be just as large. It has no effect, so a retry can simply decide again.
  if (text.length > rememberedAnswerMax) return answer;
  // Answers may have undefined optional members, but JSON has no undefined.
  const result = await store.commit({ writes: [], writer: scope.writer, request: { ...request, note: { answer: JSON.parse(text) as Json } } });
  if (!result.ok) throw requestKeyReused(request);
  return result.replayed ? replay(operation, result) : answer;
}

function replay<Note extends Json, Answer>(operation: Operation<Note, Answer>, outcome: Committed): Answer {
  const stored = outcome.note as { answer?: Answer; note?: Note };
  return "answer" in stored ? (stored.answer as Answer) : operation.finish(stored.note as Note, outcome);
}

const requestKeyReused = (request: RequestKey): HoldfastError =>
  new HoldfastError("request_key_reused", `The request key ${JSON.stringify(request.key)} was used before, with other arguments or by another caller; nothing was changed.`, {
    hint: "Use a new request key for a new request.",
  });
