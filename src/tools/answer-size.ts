import { answerTextMax } from "../domain/answer-text.ts";
import type { Json } from "../kernel/json.ts";

/** About how much a value adds to an answer. UTF-16 units: exact enough for a budget, and cheap. */
export const sizeOf = (value: Json): number => (value === null || typeof value === "number" || typeof value === "boolean" ? 8 : JSON.stringify(value).length);

/** The first items whose values fit together; always at least one, so that paging gets on. */
export function fitting<Item>(items: readonly Item[], payload: (item: Item) => Json, bytesMax: number = answerTextMax): readonly Item[] {
  let left = bytesMax;
  const end = items.findIndex((item, i) => {
    left -= sizeOf(payload(item));
    return left < 0 && i > 0;
  });
  return end === -1 ? items : items.slice(0, end);
}
