import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { parse } from "yaml";
import * as z from "zod";
import { hookEvents } from "../../src/surfaces/hooks/hook-events.ts";

/** A text that must occur, or `/expression/flags`. */
const key = z.string().min(1);
const args = z.record(z.string(), z.unknown());
/** The name of a repository; the situation's own when absent. */
const project = z.string().regex(/^[a-z][a-z0-9-]*$/);

const step = z.union([
  z.strictObject({ by: z.string(), call: z.string(), with: args.optional(), in: project.optional() }),
  /** A program begins something that must not happen twice, and either reports it or disappears. */
  z.strictObject({ effect: args, by: z.string(), ends: z.enum(["done", "failed"]).optional(), answer: z.unknown().optional(), in: project.optional() }),
  z.strictObject({ hook: z.enum(hookEvents), with: args.optional(), in: project.optional() }),
  /** Time passes: `90s`, `10m`, `3d`. */
  z.strictObject({ wait: z.string() }),
  /** Files are written and not committed. */
  z.strictObject({ edit: z.record(z.string(), z.string()), in: project.optional() }),
  z.strictObject({ commit: z.string(), in: project.optional() }),
]);
export type Step = z.output<typeof step>;

const situation = z.strictObject({
  title: z.string(),
  /** The repository in which the question is asked. */
  project: project.default("tally"),
  steps: z.array(step),
  ask: z.union([z.strictObject({ by: z.string(), with: args.optional() }), z.strictObject({ hook: z.literal("session-start"), with: args.optional() })]),
  must: z.strictObject({ facts: z.array(key).default([]), open: z.array(key).default([]), done: z.array(key).default([]) }),
  noise: z.array(key).default([]),
});
export type Situation = z.output<typeof situation> & { readonly name: string };

/** Every file of a folder, in order of name. A file that cannot be parsed is an error that names it. */
export function readSituations(folder: string): readonly Situation[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".yaml"))
    .sort()
    .map((file) => {
      const parsed = situation.safeParse(parse(readFileSync(join(folder, file), "utf8")));
      if (!parsed.success) throw new Error(`${file}: ${z.prettifyError(parsed.error)}`);
      return { ...parsed.data, name: basename(file, ".yaml") };
    });
}
