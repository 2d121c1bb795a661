import { parseDocument } from "yaml";
import { isObject } from "./parse-json.ts";

const aliasesMax = 100;

/** Parses a map of fields, plain data only. The version decides how unquoted words are read: `no` is false in 1.1, which Sage writes, and a string in 1.2. */
export function parseYaml(text: string, version: "1.1" | "1.2"): { readonly fields: Readonly<Record<string, unknown>> } | { readonly reason: string } {
  const schema = version === "1.1" ? "yaml-1.1" : "core";
  const document = parseDocument(text, { version, schema, strict: true, prettyErrors: false, logLevel: "silent" });
  const problem = document.errors[0] ?? document.warnings[0];
  if (problem !== undefined) return { reason: `is not plain YAML (${problem.code} at character ${problem.pos[0]})` };
  try {
    const fields: unknown = document.toJS({ maxAliasCount: aliasesMax });
    return isObject(fields) ? { fields } : { reason: "is not a map of fields" };
  } catch {
    return { reason: `has more than ${aliasesMax} aliases` };
  }
}

/** Splits the text between two lines of three dashes from the body that follows. Without such lines, everything is body. */
export function splitFrontMatter(text: string): { readonly matter?: string; readonly body: string } {
  const lines = text.replaceAll("\r\n", "\n").split("\n");
  const end = lines[0] === "---" ? lines.indexOf("---", 1) : -1;
  if (end === -1) return { body: lines.join("\n") };
  // One empty line separates the front matter from the body.
  const start = lines[end + 1] === "" ? end + 2 : end + 1;
  return { matter: lines.slice(1, end).join("\n"), body: lines.slice(start).join("\n") };
}
