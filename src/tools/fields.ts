import * as z from "zod";
import type { Json, JsonObject } from "../kernel/json.ts";
import { limits } from "../store/limits.ts";

/** Parameters that many tools share. Checks that models need not see in the JSON Schema are refinements, which cost no tokens. */

/** Keys and ids. The store's `requireKey` checks the exact rules, so that every surface shares one validator. */
export const key = z.string();

/** Any JSON value, unchanged. zod's JSON and record schemas would drop a member named `__proto__`. */
export const json = z.custom<Json>((value) => value !== undefined, "required; any JSON value");

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);
export const jsonObject = z.custom<JsonObject>(isObject, "required; must be a JSON object").meta({ type: "object" });

const labelBytesMax = 256;
/** A label that a caller gives itself. */
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

/** Clients time out after 60 seconds, so a wait must end earlier. */
export const waitSecondsMax = 55;
export const waitSeconds = z.number().min(0).max(waitSecondsMax);

export const version = z.int().min(0);
export const revision = z.int().min(1);
export const token = z.int().min(1);

/** Rounded up, so that nothing expires early. Rounding to microseconds first keeps 16.1 s at 16100 ms, which binary fractions would make 16101. */
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

/** A custom check, for the same reason as `json`. */
export const tags = z
  .custom<Readonly<Record<string, string>>>(
    isTags,
    `must map names (1 to ${tagLimits.nameBytesMax} bytes) to strings (at most ${tagLimits.valueBytesMax} bytes), at most ${tagLimits.count} of them`,
  )
  .meta({ type: "object", additionalProperties: { type: "string" } });

/** Output: Unix seconds, with fractions. */
export const time = z.number();
export const timeOrNull = z.number().nullable();

/** Free text. The domain checks the maximum length, and its error names the field. */
export const text = z.string();
/** A question in natural language. */
export const query = z.string();
/** `questions` of a save and `also` of a search. They are described only where they matter most and in the instructions; elsewhere the name must suffice. */
export const texts = z.array(text).optional();

/** Output: ISO 8601 in UTC, for fields that people read. */
export const isoTime = z.string();
/** Output: a problem that did not prevent the call from succeeding. */
export const warning = z.string().optional();
