import type { Engine } from "../../src/store/store.ts";

export interface EngineCalls {
  calls: number;
  /** The longest chain of calls that waited for each other. */
  rounds: number;
}

const counted = ["position", "read", "log", "search", "count", "readRequest", "commit"] as const;

/** An engine that counts its calls. Concurrent calls are one round. */
export function countedEngine(engine: Engine): { readonly engine: Engine; readonly counts: EngineCalls; reset(): void } {
  const counts: EngineCalls = { calls: 0, rounds: 0 };
  let answered = 0;
  const counting =
    (call: (...args: unknown[]) => Promise<unknown>) =>
    async (...args: unknown[]) => {
      const round = answered + 1;
      counts.calls += 1;
      counts.rounds = Math.max(counts.rounds, round);
      try {
        const answer = await call.apply(engine, args);
        // All calls of a round are answered before any caller continues: the next round begins a turn later.
        await new Promise((resolve) => setImmediate(resolve));
        return answer;
      } finally {
        answered = Math.max(answered, round);
      }
    };
  const handler: ProxyHandler<Engine> = {
    get(target, name) {
      const member = Reflect.get(target, name) as unknown;
      if (typeof member !== "function") return member;
      return (counted as readonly PropertyKey[]).includes(name) ? counting(member as never) : member.bind(target);
    },
  };
  const reset = (): void => {
    Object.assign(counts, { calls: 0, rounds: 0 });
    answered = 0;
  };
  return { engine: new Proxy(engine, handler), counts, reset };
}
