import * as z from "zod";
import { invalidInput } from "../kernel/errors.ts";
import { fingerprint } from "../kernel/json.ts";

/** Where a listing continues. Opaque to callers; `list` keeps one listing's cursor from being taken for another's. */
export const cursor = z.string();

export const toCursor = (list: string, position: string): string => Buffer.from(`${list} ${position}`, "utf8").toString("base64url");

export function fromCursor(list: string, text: string): string {
  const decoded = Buffer.from(text, "base64url").toString("utf8");
  // Decoding skips what it cannot read: only text that comes out the same again was made by toCursor.
  if (!decoded.startsWith(`${list} `) || decoded.includes("\0") || toCursor(list, decoded.slice(list.length + 1)) !== text) throw badCursor();
  return decoded.slice(list.length + 1);
}

/** A listing's name with its filters: a position in a list of other things means nothing, or something else. */
export const listOf = (name: string, filter: Readonly<Record<string, unknown>>): string => `${name}-${fingerprint(filter).slice(0, 8)}`;

export const badCursor = () => invalidInput("cursor", "must be the cursor of the page before, from the same call with the same arguments");
