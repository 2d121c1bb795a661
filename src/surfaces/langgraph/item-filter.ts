import { isDeepStrictEqual } from "node:util";
import { invalidInput } from "../../kernel/errors.ts";

type Comparison = (value: unknown, wanted: unknown) => boolean;

/** True if the order of two values is as wanted. Numbers, also in strings, compare as numbers, other strings as text; nothing else has an order. */
const ordered =
  (isWanted: (sign: number) => boolean): Comparison =>
  (value, wanted) => {
    const [a, b] = [toNumber(value), toNumber(wanted)];
    if (a !== undefined && b !== undefined) return isWanted(Math.sign(a - b));
    return typeof value === "string" && typeof wanted === "string" && isWanted(value < wanted ? -1 : Number(value > wanted));
  };

const isIn: Comparison = (value, wanted) => requireList(wanted).some((each) => isDeepStrictEqual(value, each));

const comparisons: Readonly<Record<string, Comparison>> = {
  $eq: isDeepStrictEqual,
  $ne: (value, wanted) => !isDeepStrictEqual(value, wanted),
  $gt: ordered((sign) => sign > 0),
  $gte: ordered((sign) => sign >= 0),
  $lt: ordered((sign) => sign < 0),
  $lte: ordered((sign) => sign <= 0),
  $in: isIn,
  $nin: (value, wanted) => !isIn(value, wanted),
};

/** The test of LangGraph's filters: each member is a value to be equal to, or an object of operators. Throws at once for an operator that is unknown. */
export function itemFilter(filter: Readonly<Record<string, unknown>> = {}): (value: Readonly<Record<string, unknown>>) => boolean {
  const tests = Object.entries(filter).flatMap(([member, wanted]) =>
    conditionsOf(member, wanted).map(
      ([compare, operand]) =>
        (value: Readonly<Record<string, unknown>>) =>
          compare(value[member], operand),
    ),
  );
  return (value) => tests.every((test) => test(value));
}

function conditionsOf(member: string, wanted: unknown): readonly (readonly [Comparison, unknown])[] {
  const operators = typeof wanted === "object" && wanted !== null && !Array.isArray(wanted) ? Object.entries(wanted) : [];
  if (!operators.some(([name]) => name.startsWith("$"))) return [[isDeepStrictEqual, wanted]];
  return operators.map(([name, operand]) => {
    const compare = Object.hasOwn(comparisons, name) ? comparisons[name] : undefined;
    if (compare === undefined) throw invalidInput("filter", `${member}: unknown operator ${JSON.stringify(name)}; allowed: ${Object.keys(comparisons).join(", ")}`);
    if (compare === comparisons.$in || compare === comparisons.$nin) requireList(operand);
    return [compare, operand];
  });
}

function requireList(operand: unknown): readonly unknown[] {
  if (Array.isArray(operand)) return operand;
  throw invalidInput("filter", "$in and $nin need a list of values");
}

function toNumber(value: unknown): number | undefined {
  if (typeof value !== "number" && (typeof value !== "string" || value.trim() === "")) return undefined;
  const number = Number(value);
  return Number.isNaN(number) ? undefined : number;
}
