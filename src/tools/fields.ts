import * as z from "zod";
import type { Json, JsonObject } from "../kernel/json.ts";
import { limits } from "../store/limits.ts";

/** Parameters that many tools share. Checks that JSON Schema need not repeat to every model are refinements: they cost no tokens. */

/** Keys and ids: their exact rules are the store's (`requireKey`), one validator for every surface. */
export const key = z.string();

/** Any JSON, untouched: zod's own JSON and record schemas would drop a member named `__proto__`. */
export const json = z.custom<Json>((value) => value !== undefined, "required; any JSON value");

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
export const jsonObject = z.custom<JsonObject>(isObject, "required; must be a JSON object").meta({ type: "object" });

const labelBytesMax = 256;
/** A label a caller gives itself. */
export const label = z.string().refine((text) => text.length > 0 && Buffer.byteLength(text) <= labelBytesMax && text.isWellFormed() && !text.includes("\0"), {
  error: `must be 1 to ${labelBytesMax} bytes of well-formed text without NUL`,
});

export const prefix = z.string().refine((text) => text.isWellFormed() && !text.includes("\0") && Buffer.byteLength(text) <= limits.keyBytesMax, {
  error: `must be at most ${limits.keyBytesMax} bytes of well-formed text without NUL`,
});

const secondsMax = limits.ttlMsMax / 1000;
const ttlError = `must be above 0 and at most ${secondsMax} (ten years); fractions are allowed`;
export const ttlSeconds = z
  .number()
  .refine((seconds) => seconds > 0 && seconds <= secondsMax, ttlError)
  .meta({ exclusiveMinimum: 0 });

/** Clients give up after 60 seconds: a wait must end before. */
export const waitSecondsMax = 55;
export const waitSeconds = z.number().min(0).max(waitSecondsMax);

export const version = z.int().min(0);
export const revision = z.int().min(1);
export const token = z.int().min(1);

/** Rounded up, so that nothing ends before its time; but 16.1 s is 16100 ms, not the 16101 that binary fractions would make of it. */
export const toMs = (seconds: number): number => Math.ceil(Math.round(seconds * 1_000_000) / 1000);
export const toTtlMs = (seconds: number): number => Math.max(1, toMs(seconds));
export const toSeconds = (ms: number): number => ms / 1000;
export const toSecondsOrNull = (ms: number | undefined): number | null => (ms === undefined ? null : ms / 1000);

export const pageLimit = (max: number) => z.int().min(1).max(max);

export const tagLimits = { count: 16, nameBytesMax: 64, valueBytesMax: 128 } as const;
const isTags = (value: unknown): value is Record<string, string> =>
  isObject(value) &&
  Object.keys(value).length <= tagLimits.count &&
  Object.entries(value).every(([name, tag]) => isTagText(name, tagLimits.nameBytesMax) && name.length > 0 && isTagText(tag, tagLimits.valueBytesMax));
const isTagText = (text: unknown, bytesMax: number): boolean => typeof text === "string" && text.isWellFormed() && Buffer.byteLength(text) <= bytesMax;

/** Own check, for the same reason as `json`. */
export const tags = z
  .custom<Readonly<Record<string, string>>>(
    isTags,
    `must map names (1 to ${tagLimits.nameBytesMax} bytes) to strings (at most ${tagLimits.valueBytesMax} bytes), at most ${tagLimits.count} of them`,
  )
  .meta({ type: "object", additionalProperties: { type: "string" } });

/** Output: Unix seconds with fractions. */
export const time = z.number();
export const timeOrNull = z.number().nullable();

/** Running text; how long it may be is the domain's rule, which names the field. */
export const text = z.string();
/** A question in plain words. */
export const query = z.string();
/** Output: ISO 8601 in UTC, where people read it. */
/** `questions` of a save and `also` of a search: explained where they matter most, and by the instructions; everywhere else the name has to do. */
export const texts = z.array(text).optional();

export const isoTime = z.string();
/** Output: what went wrong beside what was asked for. */
export const warning = z.string().optional();
