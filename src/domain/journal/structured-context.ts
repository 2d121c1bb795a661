/** The fields that Goldfish 7 stores with a checkpoint besides its description. The journal combines them into one searchable text. */
export const structuredFields: readonly string[] = ["type", "context", "decision", "alternatives", "impact", "evidence", "symbols", "next", "confidence", "unknowns"];

/** One line per non-empty field, such as `Decision: keep the queue in one table`. */
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
