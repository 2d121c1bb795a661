import { Document, parseDocument } from "yaml";
import { invalidInput } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";

/** Plain YAML 1.2 that suits git and readers: keys in the given order, long texts as blocks, no folding, no anchors. */
export const toYaml = (value: { readonly [field: string]: Json }): string =>
  new Document(value, { version: "1.2", schema: "core", aliasDuplicateObjects: false }).toString({ lineWidth: 0, doubleQuotedAsJSON: true });

/** Data only: no custom tags, no aliases, no duplicate keys, exactly one document. */
export function fromYaml(text: string): unknown {
  const document = parseDocument(text, { version: "1.2", schema: "core", merge: false, uniqueKeys: true, strict: true, prettyErrors: false, logLevel: "error" });
  const problem = document.errors[0] ?? document.warnings[0];
  if (problem !== undefined) throw invalidInput("file", `must be plain YAML: ${problem.code} at character ${problem.pos[0]}`);
  try {
    return document.toJS({ maxAliasCount: 0 });
  } catch (cause) {
    throw Object.assign(invalidInput("file", "must be plain YAML without aliases"), { cause });
  }
}
