/** What Goldfish 7 keeps of a checkpoint beside its description. The journal has one text for all of it, which search reads as well. */
export const structuredFields: readonly string[] = ["type", "context", "decision", "alternatives", "impact", "evidence", "symbols", "next", "confidence", "unknowns"];

/** One line for each field that says something, such as `Decision: keep the queue in one table`. */
export const structuredContext = (fields: Readonly<Record<string, unknown>>): readonly string[] =>
  structuredFields.flatMap((name) => {
    const text = textOf(Object.hasOwn(fields, name) ? fields[name] : undefined);
    const saysNothing = text === "" || (name === "type" && text === "checkpoint");
    return saysNothing ? [] : [`${name.charAt(0).toUpperCase()}${name.slice(1)}: ${text}`];
  });

function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return listIn(value)?.join("; ") ?? value.trim();
  return Array.isArray(value) && value.every((item) => typeof item === "string") ? value.join("; ") : JSON.stringify(value);
}

/** Some clients send a list as its JSON text. */
function listIn(text: string): readonly string[] | undefined {
  if (!text.trimStart().startsWith("[")) return undefined;
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((item) => typeof item === "string") ? list : undefined;
  } catch {
    return undefined;
  }
}
