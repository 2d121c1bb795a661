import * as z from "zod";
import { invalidInput } from "../kernel/errors.ts";

/** Where a listing continues. Opaque to callers; `list` keeps one listing's cursor from being taken for another's. */
export const cursor = z.string();

export const toCursor = (list: string, position: string): string => Buffer.from(`${list} ${position}`, "utf8").toString("base64url");

export function fromCursor(list: string, text: string): string {
  const decoded = Buffer.from(text, "base64url").toString("utf8");
  // Decoding skips what it cannot read: only text that comes out the same again was made by toCursor.
  if (!decoded.startsWith(`${list} `) || decoded.includes("\0") || toCursor(list, decoded.slice(list.length + 1)) !== text) throw badCursor();
  return decoded.slice(list.length + 1);
}

export const badCursor = () => invalidInput("cursor", "must be the cursor of the page before, from the same call with the same arguments");
