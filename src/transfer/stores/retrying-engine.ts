import type { Clock } from "../../kernel/clock.ts";
import { isHoldfastError } from "../../kernel/errors.ts";
import { isSameSeal } from "../../store/engine-rules.ts";
import type { Engine } from "../../store/store.ts";

const retryForMs = 60_000;
const pauseMs = { first: 50, max: 2_000 } as const;

/**
 * What moving asks of an engine may all be asked again: the same page, the same records, and, with a look at what is there by then, the same seal. So a server that is slow, restarts or loses a
 * connection delays a migration and does not end it. What a seal refuses is no such failure, and moving asks nothing that its own seals refuse.
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
          // Changed by the one whose answer was lost: it is no longer what was expected, but what was wanted.
          if (isUnknown && isHoldfastError(error, "conflict") && isSameSeal((await engine.dump(namespace, { part: "keys" })).facts.seal, seal)) return;
          isUnknown ||= isHoldfastError(error, "outcome_unknown");
          throw error;
        }
      });
    },
    clear: (namespace) => {
      let isSecond = false;
      return again(async () => {
        // Cleared, it is no longer sealed.
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
