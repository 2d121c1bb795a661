import type { Clock } from "../../kernel/clock.ts";
import { isHoldfastError } from "../../kernel/errors.ts";
import { isSameSeal } from "../../store/engine-rules.ts";
import type { Engine } from "../../store/store.ts";

const retryForMs = 60_000;
const pauseMs = { first: 50, max: 2_000 } as const;

/**
 * Every engine call of a migration can be repeated: the same page, the same records and, after a check of the current state, the
 * same seal. A server that is slow, restarts or loses a connection therefore delays a migration but does not end it. Rejection
 * by a seal is not such a failure, and a migration makes no call that its own seals reject.
 */
export function retryingEngine(engine: Engine, clock: Clock, signal?: AbortSignal): Engine {
  const again = async <T>(ask: () => Promise<T>): Promise<T> => {
    const untilMs = clock.nowMs() + retryForMs;
    for (let waitMs: number = pauseMs.first; ; waitMs = Math.min(waitMs * 2, pauseMs.max)) {
      try {
        return await ask();
      } catch (error) {
        const isPassing = isHoldfastError(error, "unavailable") || isHoldfastError(error, "outcome_unknown");
        if (!isPassing || clock.nowMs() >= untilMs) throw error;
      }
      await clock.sleep(waitMs, signal);
      signal?.throwIfAborted();
    }
  };
  const retried: Partial<Engine> = {
    dump: (namespace, query) => again(() => engine.dump(namespace, query)),
    load: (namespace, records, facts, by) => again(() => engine.load(namespace, records, facts, by)),
    seal: (namespace, seal, expected) => {
      let isUnknown = false;
      return again(async () => {
        try {
          await engine.seal(namespace, seal, expected);
        } catch (error) {
          // An earlier attempt, whose answer was lost, has already set the seal: it is no longer the expected one but the wanted one.
          if (isUnknown && isHoldfastError(error, "conflict") && isSameSeal((await engine.dump(namespace, { part: "keys" })).facts.seal, seal)) return;
          isUnknown ||= isHoldfastError(error, "outcome_unknown");
          throw error;
        }
      });
    },
    clear: (namespace) => {
      let isSecond = false;
      return again(async () => {
        // A cleared namespace has no seal any more.
        if (isSecond && (await engine.dump(namespace, { part: "keys" })).facts.seal === undefined) return;
        isSecond = true;
        await engine.clear(namespace);
      });
    },
    position: (namespace) => again(() => engine.position(namespace)),
    read: (namespace, ranges, options) => again(() => engine.read(namespace, ranges, options)),
  };
  return new Proxy(engine, {
    get(target, name) {
      if (Object.hasOwn(retried, name)) return retried[name as keyof Engine];
      const member = Reflect.get(target, name, target) as unknown;
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
