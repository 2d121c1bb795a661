import type { Clock } from "../../kernel/clock.ts";
import { isHoldfastError } from "../../kernel/errors.ts";
import type { Engine } from "../../store/store.ts";

const patienceMs = 60_000;
const pauseMs = { first: 50, max: 2_000 } as const;

/**
 * What moving asks of an engine may all be asked again: the same page, the same records, the same seal. So a server that is slow, restarts or loses a
 * connection delays a migration and does not end it. What a seal refuses is no such failure, and moving asks nothing that its own seals refuse.
 */
export function patient(engine: Engine, clock: Clock, signal?: AbortSignal): Engine {
  const again = async <T>(ask: () => Promise<T>): Promise<T> => {
    const untilMs = clock.nowMs() + patienceMs;
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
  const patiently: Partial<Engine> = {
    dump: (namespace, query) => again(() => engine.dump(namespace, query)),
    load: (namespace, records, facts) => again(() => engine.load(namespace, records, facts)),
    seal: (namespace, seal) => again(() => engine.seal(namespace, seal)),
    clear: (namespace) => {
      let isSecond = false;
      return again(async () => {
        // The one thing that cannot simply be asked twice: cleared, it is no longer sealed.
        if (isSecond && (await engine.dump(namespace, { part: "keys" })).facts.seal === undefined) return;
        isSecond = true;
        await engine.clear(namespace);
      });
    },
    read: (namespace, ranges, options) => again(() => engine.read(namespace, ranges, options)),
  };
  return new Proxy(engine, {
    get(target, name) {
      if (Object.hasOwn(patiently, name)) return patiently[name as keyof Engine];
      const member = Reflect.get(target, name, target) as unknown;
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
