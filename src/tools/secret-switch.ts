import { HoldfastError } from "../kernel/errors.ts";
import type { Json } from "../kernel/json.ts";
import { limits } from "../store/limits.ts";
import { findSecrets, redactSecrets } from "./secret-shapes.ts";

export type SecretMode = "refuse" | "redact";

type Path = readonly (string | number)[];

/** Anything nested deeper is rejected by the store: this is the depth limit of a value plus the depth at which a value appears in the arguments. */
const depthMax = limits.valueDepthMax + 8;

/**
 * Checks the arguments of a tool that writes for secrets of known shapes: rejects them or replaces them with `[redacted:KIND]`. Names
 * (of a key, a run, a holder) are never rewritten, because two names that differ only in their secret would become equal. They are
 * rejected in both modes. Errors name the field; the secret itself appears in no message, log or answer.
 */
export function withoutSecrets<Args extends Record<string, unknown>>(args: Args, mode: SecretMode): Args {
  return cleaned(args, mode, [], false) as Args;
}

/** What is about to be stored and cannot be refused any more, because it has happened. */
export const redactedJson = (value: Json): Json => cleaned(value, "redact", ["value"], false) as Json;

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
    const cleanName = cleanedText(name, mode, [...path, "(a member's name)"], isOfSchema(path) || isName);
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

/** JSON text can spell every character in several ways (`\/`, `\u005f`), so the decoded value is checked. */
function withoutEscapedSecrets(text: string, mode: SecretMode, path: Path, isName: boolean): string {
  if (!text.includes("\\") || path.length > depthMax) return text;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  // One level deeper than the text itself, so that nested JSON text cannot recurse without end.
  const clean = typeof value === "string" ? cleaned(value, mode, [...path, 0], isName) : cleaned(value, mode, path, isName);
  return clean === value ? text : JSON.stringify(clean);
}

/** Arguments whose inner members are defined by the schema, such as `writes[2].key`. Everything inside other arguments is the caller's text. */
const structured = new Set(["writes", "expected", "leases", "lease", "guard"]);
const isOfSchema = (path: Path): boolean => path.length === 0 || (structured.has(path[0] as string) && path.length === (path[0] === "lease" || path[0] === "guard" ? 1 : 2));

const nameFields = new Set(["key", "id", "name", "resource", "agent", "run", "step", "scope", "tool", "tags", "skill", "workspace", "supersedes", "continues", "cursor"]);
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
      hint: "Keep it in a secret manager and store a reference to it. The server's setting `secrets` controls this check.",
      details: { field, kind },
    },
  );
}
