import type { ServerFacts } from "./tool.ts";

/**
 * Engine facts about a single namespace. This is an allowlist: a fact that an engine adds later counts as store-wide until it is listed here.
 * `log_rows` is store-wide too, because not every engine counts it by namespace.
 */
const ofNamespace: ReadonlySet<string> = new Set(["revision", "compacted_revision", "entries", "tombstones", "request_keys", "base", "gaps", "seal"]);

/** Sizes, names and settings of the store reflect every caller's work. Callers with access to a part of the store see only the facts of that part. */
export const visibleFacts = <Fact>({ tellsOf = "store" }: Pick<ServerFacts, "tellsOf">, facts: Readonly<Record<string, Fact>>): Readonly<Record<string, Fact>> =>
  tellsOf === "store" ? facts : Object.fromEntries(Object.entries(facts).filter(([name]) => ofNamespace.has(name)));
