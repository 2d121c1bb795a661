import type { ListNamespacesOperation, MatchCondition } from "@langchain/langgraph-checkpoint";
import { InvalidNamespaceError } from "@langchain/langgraph-checkpoint";

/** LangGraph's rule for namespaces: at least one label, none empty or with a period. */
export function requireLabels(namespace: unknown): readonly string[] {
  if (!Array.isArray(namespace) || namespace.length === 0) throw new InvalidNamespaceError("namespace: must be a list of at least one label");
  const wrong = namespace.find((label) => typeof label !== "string" || label === "" || label.includes("."));
  if (wrong !== undefined) throw new InvalidNamespaceError(`namespace: labels must be non-empty strings without periods (got ${JSON.stringify(wrong)})`);
  return namespace;
}

/** The labels with which every match begins, up to the first that may be anything: only the keys below them need to be read. */
export function literalPrefix(conditions: readonly MatchCondition[] = []): readonly string[] {
  const path = conditions.find(({ matchType }) => matchType === "prefix")?.path ?? [];
  const wild = path.indexOf("*");
  return wild < 0 ? path : path.slice(0, wild);
}

/** The namespaces that match, cut to the depth, each once and in order. */
export function selectNamespaces(all: Iterable<readonly string[]>, { matchConditions = [], maxDepth, limit, offset }: ListNamespacesOperation): string[][] {
  const found = new Map<string, string[]>();
  for (const namespace of all) {
    if (!matchConditions.every((condition) => matches(namespace, condition))) continue;
    const cut = namespace.slice(0, maxDepth);
    found.set(cut.join("\0"), cut);
  }
  const sorted = [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, namespace]) => namespace);
  return sorted.slice(offset, offset + limit);
}

function matches(namespace: readonly string[], { matchType, path }: MatchCondition): boolean {
  const start = matchType === "prefix" ? 0 : namespace.length - path.length;
  return path.length <= namespace.length && path.every((label, i) => label === "*" || label === namespace[start + i]);
}
