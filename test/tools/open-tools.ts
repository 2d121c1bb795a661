import { expect } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import type { Log } from "../../src/kernel/log.ts";
import { engineFacts } from "../../src/store/engine-facts.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { Engine } from "../../src/store/store.ts";
import { catalog } from "../../src/tools/catalog.ts";
import type { ToolBase, ToolCall, ToolFailure, ToolOutcome } from "../../src/tools/run-tool.ts";
import { runTool } from "../../src/tools/run-tool.ts";
import type { ServerFacts, Tool } from "../../src/tools/tool.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { manualClock } from "../support/manual-clock.ts";

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely by tests
export type Answer = any;

export interface TestTools {
  readonly clock: ManualClock;
  readonly base: ToolBase;
  readonly engine: Engine;
  readonly logged: { readonly event: string; readonly facts: Readonly<Record<string, unknown>> }[];
  outcome(name: string, args?: unknown, call?: ToolCall): Promise<ToolOutcome>;
  /** The answer of a call that must succeed. */
  call(name: string, args?: unknown, call?: ToolCall): Promise<Answer>;
  /** The error of a call that must fail, after which nothing may have changed. */
  fails(name: string, args?: unknown, call?: ToolCall): Promise<ToolFailure>;
}

export const startSeconds = 1_800_000_000;

/** Every tool on the memory engine under a manual clock, through runTool, as every surface does. */
export function openTools({
  engine,
  clock = manualClock(),
  writer = "tester",
  server = {},
  connection,
}: {
  engine?: Engine;
  clock?: ManualClock;
  writer?: string;
  server?: Partial<ServerFacts>;
  connection?: string;
} = {}): TestTools {
  const used = engine ?? new MemoryEngine(clock);
  const logged: TestTools["logged"] = [];
  const log: Log = (_level, event, facts = {}) => void logged.push({ event, facts });
  const base: ToolBase = {
    store: openNamespaceStore(used, "test", clock),
    clock,
    writer,
    server: { version: "1.2.3", startedAtMs: clock.nowMs(), claimTtlMs: 900_000, ...engineFacts(used), ...server },
    connection,
  };
  const outcome = (name: string, args: unknown = {}, call: ToolCall = {}): Promise<ToolOutcome> => runTool(toolNamed(name), args, base, call, log);
  return {
    clock,
    base,
    engine: used,
    logged,
    outcome,
    async call(name, args, call) {
      const result = await outcome(name, args, call);
      if (!result.ok) throw new Error(`${name} failed: ${JSON.stringify(result.error)}`);
      return result.structured;
    },
    async fails(name, args, call) {
      const before = await revisionOf(base);
      const result = await outcome(name, args, call);
      if (result.ok) throw new Error(`${name} should have failed; it answered ${JSON.stringify(result.structured)}`);
      expect(await revisionOf(base), "a failed call wrote something").toBe(before);
      return result.error;
    },
  };
}

export function toolNamed(name: string): Tool {
  const tool = catalog.find((candidate) => candidate.name === name);
  if (tool === undefined) throw new Error(`there is no tool ${name}`);
  return tool;
}

export const revisionOf = async ({ store }: Pick<ToolBase, "store">): Promise<number> => (await store.position()).revision;
