import { HoldfastError } from "../kernel/errors.ts";
import { limits } from "../store/limits.ts";
import { findSecrets, redactSecrets } from "./secret-shapes.ts";

export type SecretMode = "refuse" | "redact";

type Path = readonly (string | number)[];

/** What is nested deeper is refused by the store: a value may be nested so deep, and stands so deep in the arguments. */
const depthMax = limits.valueDepthMax + 8;

/**
 * The arguments of a tool that writes, without secrets of known shapes: as they are, or with `[redacted:KIND]` in their place.
 * Names (of a key, a run, a holder) are never rewritten, because two that differ in their secret would become one: they are refused in both modes.
 * What is refused is told by its place; the secret itself is in no message, log or answer.
 */
export function withoutSecrets<Args extends Record<string, unknown>>(args: Args, mode: SecretMode): Args {
  return cleaned(args, mode, [], false) as Args;
}

/** Beside the arguments, but stored like them. */
export function requireNoSecret(text: string, field: string): void {
  const [found] = findSecrets(text);
  if (found !== undefined) throw refusal(field, found.kind, "refuse");
}

function cleaned(value: unknown, mode: SecretMode, path: Path, isName: boolean): unknown {
  if (typeof value === "string") return cleanedText(value, mode, path, isName);
  if (value === null || typeof value !== "object" || path.length > depthMax) return value;
  if (Array.isArray(value)) {
    const items = value.map((item, i) => cleaned(item, mode, [...path, i], isName));
    return items.some((item, i) => item !== value[i]) ? items : value;
  }
  let changed = false;
  const members = Object.entries(value).map(([name, member]): [string, unknown] => {
    const fieldPath = [...path, name];
    const clean = cleaned(member, mode, fieldPath, isName || (isOfSchema(path) && isNameField(name)));
    const cleanName = cleanedText(name, mode, [...path, "(the name of a member)"], isOfSchema(path) || isName);
    changed ||= clean !== member || cleanName !== name;
    return [cleanName, clean];
  });
  return changed ? Object.fromEntries(members) : value;
}

function cleanedText(text: string, mode: SecretMode, path: Path, isName: boolean): string {
  const member = path.at(-1);
  const found = findSecrets(text, typeof member === "string" ? member : undefined);
  const [first] = found;
  if (first !== undefined && (mode === "refuse" || isName)) throw refusal(pathText(path), first.kind, mode);
  return withoutEscapedSecrets(first === undefined ? text : redactSecrets(text, found), mode, path, isName);
}

/** JSON text can spell every character in several ways (`\/`, `\u005f`): what counts is the value that it stands for. */
function withoutEscapedSecrets(text: string, mode: SecretMode, path: Path, isName: boolean): string {
  if (!text.includes("\\") || path.length > depthMax) return text;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  // One step deeper than the text itself, so that text within text comes to an end.
  const clean = typeof value === "string" ? cleaned(value, mode, [...path, 0], isName) : cleaned(value, mode, path, isName);
  return clean === value ? text : JSON.stringify(clean);
}

/** Arguments that have names of ours inside them, `writes[2].key`; in all others everything is the caller's own text. */
const structured = new Set(["writes", "expected", "leases", "lease"]);
const isOfSchema = (path: Path): boolean => path.length === 0 || (structured.has(path[0] as string) && path.length === (path[0] === "lease" ? 1 : 2));

const nameFields = new Set(["key", "id", "name", "tags", "skill", "workspace", "supersedes", "continues", "cursor"]);
export const isNameField = (field: string): boolean => nameFields.has(field) || field.endsWith("_id") || field.endsWith("Id");

const partMax = 60;
const pathText = (path: Path): string =>
  path
    .map((part, i) => {
      if (typeof part === "number") return `[${part}]`;
      const shown = part.length > partMax ? `${part.slice(0, partMax)}…` : part;
      return i === 0 ? shown : `.${shown}`;
    })
    .join("");

function refusal(field: string, kind: string, mode: SecretMode): HoldfastError {
  return new HoldfastError(
    "invalid_input",
    `${field}: looks like a secret (${kind}), which this server does not store${mode === "redact" ? " in a name" : ""}; nothing was changed.`,
    {
      hint: "Keep it in a secret manager and store where it is found. Whoever runs the server decides with the setting secrets.",
      details: { field, kind },
    },
  );
}
