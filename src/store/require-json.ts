import { HoldfastError, invalidInput } from "../kernel/errors.ts";
import type { Json } from "../kernel/json.ts";
import { limits } from "./limits.ts";

/** Walks without recursion, so that deep nesting reports the limit instead of overflowing the stack. */
export function requireJson(root: Json, field: string): void {
  let elements = 0;
  const stack: { value: unknown; depth: number }[] = [{ value: root, depth: 0 }];
  for (let item = stack.pop(); item !== undefined; item = stack.pop()) {
    const { value, depth } = item;
    elements += 1;
    if (elements > limits.valueElementsMax) throw new HoldfastError("limit_exceeded", `${field}: may have ${limits.valueElementsMax} elements`, { details: { field } });
    switch (typeof value) {
      case "string":
      case "boolean":
        break;
      case "number":
        if (!Number.isFinite(value)) throw invalidInput(field, "must contain only finite numbers");
        if (Number.isInteger(value) && !Number.isSafeInteger(value))
          throw invalidInput(field, "contains an integer beyond ±9007199254740991, which would lose digits; send it as a string");
        break;
      case "object": {
        if (value === null) break;
        if (depth >= limits.valueDepthMax) throw new HoldfastError("limit_exceeded", `${field}: may be nested ${limits.valueDepthMax} deep`, { details: { field } });
        const members = Array.isArray(value) ? value : plainMembers(value, field);
        for (const member of members) stack.push({ value: member, depth: depth + 1 });
        break;
      }
      default:
        throw invalidInput(field, `must be JSON; it contains ${typeof value === "undefined" ? "undefined" : `a ${typeof value}`}`);
    }
  }
}

function plainMembers(value: object, field: string): unknown[] {
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) throw invalidInput(field, "must be JSON; it contains an object of a class");
  if ("toJSON" in value && typeof value.toJSON === "function") throw invalidInput(field, "must be JSON; it contains an object with toJSON");
  return Object.values(value);
}
