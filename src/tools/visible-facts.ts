import type { ServerFacts } from "./tool.ts";

/**
 * What an engine says of one namespace. By name, and not by what is left out: a fact that an engine learns to tell is the whole store's until it stands here.
 * So is `log_rows`, which not every engine counts by namespace.
 */
const ofNamespace: ReadonlySet<string> = new Set(["revision", "compacted_revision", "entries", "tombstones", "request_keys", "base", "gaps", "seal"]);

/** Sizes, names and settings of the store are everybody's work together: who may use only a part of it is told of that part. */
export const visibleFacts = <Fact>({ tellsOf = "store" }: Pick<ServerFacts, "tellsOf">, facts: Readonly<Record<string, Fact>>): Readonly<Record<string, Fact>> =>
  tellsOf === "store" ? facts : Object.fromEntries(Object.entries(facts).filter(([name]) => ofNamespace.has(name)));
