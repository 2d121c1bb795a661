import { answerTextMax } from "../domain/answer-text.ts";
import type { Json } from "../kernel/json.ts";

/** The approximate size of a value in a response. UTF-16 units are cheap to count and accurate enough for a budget. */
export const sizeOf = (value: Json): number => (value === null || typeof value === "number" || typeof value === "boolean" ? 8 : JSON.stringify(value).length);

/** The longest prefix of items whose values fit together. It has at least one item, so that paging always advances. */
export function fitting<Item>(items: readonly Item[], payload: (item: Item) => Json, bytesMax: number = answerTextMax): readonly Item[] {
  let left = bytesMax;
  const end = items.findIndex((item, i) => {
    left -= sizeOf(payload(item));
    return left < 0 && i > 0;
  });
  return end === -1 ? items : items.slice(0, end);
}
