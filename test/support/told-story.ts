import { readFileSync } from "node:fs";
import type { Holdfast, Json, StateChange } from "../../src/index.ts";
import { HoldfastError } from "../../src/index.ts";
import type { LibraryMethodName } from "../../src/surfaces/library/library-methods.ts";
import { callArguments } from "../../src/surfaces/library/library-methods.ts";

/** One call of the story that clients in several languages tell. */
interface ToldCall {
  readonly call: LibraryMethodName;
  readonly args: Readonly<Record<string, unknown>>;
  /** The answer is known by this name in later arguments: `$name.member`. */
  readonly as?: string;
  /** Of a watch: how many changes to take. */
  readonly take?: number;
}

export const story = JSON.parse(readFileSync(new URL("../../python/tests/story.json", import.meta.url), "utf8")) as readonly ToldCall[];

type Method = (...args: readonly unknown[]) => Promise<unknown>;

/** What the TypeScript client answers to each call. */
export async function tellStory(holdfast: Holdfast): Promise<readonly unknown[]> {
  const known: Record<string, unknown> = {};
  const answers: unknown[] = [];
  for (const { call, args, as = "", take } of story) {
    const [group = "", method] = call.split(".");
    const target = holdfast as unknown as Record<string, Method & Record<string, Method>>;
    const given = filled(args, known) as Record<string, unknown>;
    const { agent, ...others } = given;
    const argument = callArguments(call, others, agent === undefined ? {} : { agent });
    try {
      const perform = (method === undefined ? target[group] : target[group]?.[method]) as Method;
      const answer = take === undefined ? await perform(...argument) : await firstOf(perform(given) as unknown as AsyncIterable<StateChange>, take);
      known[as] = answer;
      answers.push(answer);
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      const { code, message, hint, details } = error;
      answers.push({ error: { code, message, hint, field: details?.field } });
    }
  }
  return JSON.parse(JSON.stringify(answers.map((answer) => answer ?? null))) as Json[];
}

function filled(value: unknown, known: Readonly<Record<string, unknown>>): unknown {
  if (typeof value === "string" && value.startsWith("$")) {
    const [name = "", ...path] = value.slice(1).split(".");
    return path.reduce((found, member) => (found as Record<string, unknown>)[member], known[name]);
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, filled(member, known)]));
}

async function firstOf(changes: AsyncIterable<StateChange>, count: number): Promise<readonly StateChange[]> {
  const seen: StateChange[] = [];
  for await (const change of changes) {
    seen.push(change);
    if (seen.length === count) break;
  }
  return seen;
}

/** Of two tellings only moments and what is made by chance may differ: times, sizes of files, and the ids that the server gave. Members without a value are left out. */
export function comparable(answers: unknown): unknown {
  const ids = new Map<string, string>();
  const text = JSON.stringify(answers, (name, value) => {
    if (value === null) return undefined;
    if (typeof value === "number" && /Ms$|_bytes|^score$/.test(name)) return "number";
    return value as unknown;
  });
  const made = /\b\d{8}-\d{6}[\w-]*|\b\d{4}-\d\d-\d\d[T_ ][\w:.-]*|\b(?:fx|cp|session|wf)[-_][0-9a-z_-]{6,}|\b[0-9a-f]{8,}\b|\b\d\d:\d\d(?::\d\d)?\b/g;
  return JSON.parse(
    text.replace(made, (id) => {
      if (!ids.has(id)) ids.set(id, `id-${ids.size + 1}`);
      return ids.get(id) as string;
    }),
  );
}
