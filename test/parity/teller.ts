import type { Engine } from "../../src/store/store.ts";
import type { ToolCall, ToolOutcome } from "../../src/tools/run-tool.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { until } from "../support/soon.ts";
import type { Answer } from "../tools/open-tools.ts";
import { openTools } from "../tools/open-tools.ts";
import { withoutDifferences } from "./differences.ts";
import { firstDifference } from "./first-difference.ts";
import { openEyeForChance } from "./without-chance.ts";

/** One thing that was asked and what came back, with everything left out that chance or the engine may decide. */
export interface Told {
  readonly asked: string;
  readonly with: unknown;
  readonly came: unknown;
}

/** Plays scenes on one engine and writes down every question with its answer. */
export interface Teller {
  readonly engine: Engine;
  readonly clock: ManualClock;
  readonly namespace: string;
  readonly told: readonly Told[];
  /** What the engine may answer in its own way, by "tool field". */
  readonly own: ReadonlyMap<string, unknown>;
  /** Tools that answered at least once without an error. */
  readonly answered: ReadonlySet<string>;
  /** Calls a tool: its answer, or its error. */
  call(tool: string, args?: object, call?: ToolCall): Promise<Answer>;
  /** Begins a call that waits for something, and comes back when it does wait. */
  begin(tool: string, args: object): Promise<{ ended(): Promise<Answer> }>;
  /** Writes down what something else than a tool gave. */
  note(asked: string, came: unknown): void;
}

/** The answer was another than in the telling that this one is held against. */
export class Unlike extends Error {}

/** With `like`, ends at the first answer that is not as it was then: what comes after it would differ too, or never come. */
export function openTeller({ engine, clock, like }: { readonly engine: Engine; readonly clock: ManualClock; readonly like?: readonly Told[] }): Teller {
  const tools = openTools({ engine, clock, connection: "the story's connection" });
  const told: Told[] = [];
  const own = new Map<string, unknown>();
  const answered = new Set<string>();
  const strip = openEyeForChance();
  const write = (one: Told): void => {
    told.push(one);
    const found = like === undefined ? undefined : firstDifference(one, like[told.length - 1]);
    if (found !== undefined) throw new Unlike(`Question ${told.length}, ${one.asked} ${JSON.stringify(one.with)?.slice(0, 300)}, differs at ${found}`);
  };
  const writeAnswer = (tool: string, args: object, call: ToolCall, outcome: ToolOutcome): Answer => {
    if (outcome.ok) answered.add(tool);
    const answer = outcome.ok ? outcome.structured : { error: outcome.error };
    const { same, own: differs } = withoutDifferences(tool, answer);
    for (const [field, value] of Object.entries(differs)) own.set(`${tool} ${field}`, value);
    write({ asked: tool, with: strip({ ...args, ...call }), came: strip(same) });
    return answer;
  };
  return {
    engine,
    clock,
    namespace: tools.base.store.namespace,
    told,
    own,
    answered,
    call: async (tool, args = {}, call = {}) => writeAnswer(tool, args, call, await tools.outcome(tool, args, call)),
    async begin(tool, args) {
      const before = clock.sleeping();
      let isOver = false;
      const outcome = tools.outcome(tool, args).finally(() => {
        isOver = true;
      });
      await until(() => clock.sleeping() > before || isOver);
      // Written down when the story asks for it: answers of others that came meanwhile have their own place.
      return { ended: async () => writeAnswer(tool, args, {}, await outcome) };
    },
    note: (asked, came) => write({ asked, with: {}, came: strip(came) }),
  };
}
