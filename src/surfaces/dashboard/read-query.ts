import { invalidInput } from "../../kernel/errors.ts";

/** Reads one parameter from all its values. `name` is for the error message. */
type Parameter<Value> = (given: readonly string[], name: string) => Value;
type Read<Parameters> = { readonly [Name in keyof Parameters]: Parameters[Name] extends Parameter<infer Value> ? Value : never };

/** Parses a request's query strictly: unknown, repeated and invalid parameters are rejected by name. An empty value counts as absent. */
export function readQuery<Parameters extends Readonly<Record<string, Parameter<unknown>>>>(query: URLSearchParams, parameters: Parameters): Read<Parameters> {
  const names = Object.keys(parameters);
  const unknown = [...query.keys()].find((name) => !names.includes(name));
  if (unknown !== undefined) throw invalidInput(unknown.slice(0, 64), `unknown parameter; allowed: ${names.join(", ") || "none"}`);
  return Object.fromEntries(
    names.map((name) => [
      name,
      (parameters[name] as Parameter<unknown>)(
        query.getAll(name).filter((value) => value !== ""),
        name,
      ),
    ]),
  ) as Read<Parameters>;
}

function only(given: readonly string[], name: string): string | undefined {
  if (given.length > 1) throw invalidInput(name, "must be given once");
  return given[0];
}

const isText = (value: string, bytesMax: number): boolean => Buffer.byteLength(value) <= bytesMax && value.isWellFormed() && !value.includes("\0");

const checkedText = (value: string, name: string, bytesMax: number): string => {
  if (!isText(value, bytesMax)) throw invalidInput(name, `must be at most ${bytesMax} bytes of well-formed text without NUL`);
  return value;
};

export const text =
  (bytesMax: number): Parameter<string | undefined> =>
  (given, name) => {
    const value = only(given, name);
    return value === undefined ? undefined : checkedText(value, name, bytesMax);
  };

export const requiredText =
  (bytesMax: number): Parameter<string> =>
  (given, name) => {
    const value = only(given, name);
    if (value === undefined) throw invalidInput(name, "required");
    return checkedText(value, name, bytesMax);
  };

/** May be repeated. */
export const textList =
  (countMax: number, bytesMax: number): Parameter<readonly string[]> =>
  (given, name) => {
    if (given.length > countMax) throw invalidInput(name, `may be given at most ${countMax} times`);
    return given.map((value) => checkedText(value, name, bytesMax));
  };

export const oneOf =
  <Word extends string>(words: readonly Word[]): Parameter<Word | undefined> =>
  (given, name) => {
    const value = only(given, name);
    if (value === undefined) return undefined;
    const found = words.find((word) => word === value);
    if (found === undefined) throw invalidInput(name, `must be one of ${words.join(", ")}`);
    return found;
  };

export const wholeNumber =
  (min: number, max: number = Number.MAX_SAFE_INTEGER): Parameter<number | undefined> =>
  (given, name) => {
    const value = only(given, name);
    if (value === undefined) return undefined;
    const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= min && number <= max))
      throw invalidInput(name, max === Number.MAX_SAFE_INTEGER ? `must be a whole number, at least ${min}` : `must be a whole number from ${min} to ${max}`);
    return number;
  };

/** The maximum and default number of items on a page. */
export const pageSize =
  ({ default: usual, max }: { readonly default: number; readonly max: number }): Parameter<number> =>
  (given, name) =>
    wholeNumber(1, max)(given, name) ?? usual;
