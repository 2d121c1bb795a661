import * as z from "zod";
import { invalidInput } from "../kernel/errors.ts";
import { fingerprint } from "../kernel/json.ts";

/** The position where a listing continues, opaque to callers. `list` prevents the cursor of one listing from being used with another. */
export const cursor = z.string();

export const toCursor = (list: string, position: string): string => Buffer.from(`${list} ${position}`, "utf8").toString("base64url");

export function fromCursor(list: string, text: string): string {
  const decoded = Buffer.from(text, "base64url").toString("utf8");
  // Base64 decoding skips invalid characters. Only text that encodes back to itself was made by toCursor.
  if (!decoded.startsWith(`${list} `) || decoded.includes("\0") || toCursor(list, decoded.slice(list.length + 1)) !== text) throw badCursor();
  return decoded.slice(list.length + 1);
}

/** A listing's name combined with its filters, because a position is meaningless in a listing with other filters. */
export const listOf = (name: string, filter: Readonly<Record<string, unknown>>): string => `${name}-${fingerprint(filter).slice(0, 8)}`;

export const badCursor = () => invalidInput("cursor", "must be the cursor of the previous page, with the same arguments");
