import type { Engine } from "../../src/store/store.ts";

export type EngineCalls = Partial<Record<keyof Engine, number>>;

/** The engine, counting what is asked of it. */
export function countedEngine(engine: Engine): { readonly engine: Engine; during(work: () => Promise<unknown>): Promise<EngineCalls> } {
  let calls: EngineCalls = {};
  const counted = new Proxy(engine, {
    get(target, name) {
      const member = Reflect.get(target, name, target) as unknown;
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        const operation = name as keyof Engine;
        calls[operation] = (calls[operation] ?? 0) + 1;
        return member.apply(target, args);
      };
    },
  });
  return {
    engine: counted,
    async during(work) {
      calls = {};
      await work();
      return calls;
    },
  };
}
