import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import type { Holdfast } from "../../src/index.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { bindDomain } from "../../src/surfaces/library/bind-domain.ts";
import { onceOver } from "../../src/surfaces/library/effect-once.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { manualClock } from "../support/manual-clock.ts";

/** The embedded library on a memory engine whose time, and so everybody's, is the test's. */
export function openManual(): { readonly clock: ManualClock; readonly holdfast: Holdfast } {
  const clock = manualClock();
  const engine = new MemoryEngine(clock);
  const store = openNamespaceStore(engine, "default", clock);
  const close = (): Promise<void> => engine[Symbol.asyncDispose]();
  const bound = bindDomain({ scope: { store, clock, writer: "program" }, agent: "a1", claimTtlMs: 30_000, effectKeepMs: 86_400_000 });
  return { clock, holdfast: { namespace: "default", ...bound, health: () => engine.health("default"), close, [Symbol.asyncDispose]: close } };
}

type Call = (...args: readonly unknown[]) => Promise<unknown>;

/** The same library in a process that dies at its nth call: before the call is sent, or after the store has carried it out and before the answer arrives. */
export function dyingAt(
  { holdfast, clock }: Pick<ReturnType<typeof openManual>, "holdfast" | "clock">,
  nth: number,
  when: "before" | "after",
): { readonly holdfast: Holdfast; readonly isDead: () => boolean } {
  let calls = 0;
  let isDead = false;
  const never = new Promise<never>(() => {});
  const guarded =
    (call: Call): Call =>
    async (...args) => {
      if (isDead) return never;
      calls += 1;
      const dies = calls === nth;
      if (dies && when === "before") {
        isDead = true;
        return never;
      }
      const answer = call(...args);
      if (!dies) return isDead ? never : answer;
      await answer.catch(() => undefined);
      isDead = true;
      return never;
    };
  const group = <Group extends object>(methods: Group): Group =>
    Object.fromEntries(Object.entries(methods).map(([name, method]) => [name, name === "once" ? method : guarded(method as Call)])) as Group;
  const effects = group(holdfast.effects);
  return {
    isDead: () => isDead,
    holdfast: {
      ...holdfast,
      state: group(holdfast.state),
      leases: group(holdfast.leases),
      workflows: group(holdfast.workflows),
      effects: { ...effects, once: onceOver(effects, clock) },
    },
  };
}
