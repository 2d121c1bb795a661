import { HoldfastError } from "../kernel/errors.ts";
import type { Json } from "../kernel/json.ts";

/**
 * Checks for stored records. A form only validates: it copies nothing, however many records are read. It ignores members it does not name,
 * so that records written by other versions can be read.
 */
export interface Form<T> {
  (value: unknown): value is T;
  /** The name of the first invalid member, if the value is an object. */
  readonly misfit?: (value: unknown) => string | undefined;
}

export const string: Form<string> = (value): value is string => typeof value === "string";
export const number: Form<number> = (value): value is number => typeof value === "number";
export const flag: Form<boolean> = (value): value is boolean => typeof value === "boolean";
export const nothing: Form<null> = (value): value is null => value === null;
export const anyJson: Form<Json> = (value): value is Json => value !== undefined;
export const anyObject: Form<Readonly<Record<string, Json>>> = (value): value is Readonly<Record<string, Json>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const enumOf =
  <const Word extends string>(words: readonly Word[]): Form<Word> =>
  (value): value is Word =>
    (words as readonly unknown[]).includes(value);

export const optional =
  <T>(form: Form<T>): Form<T | undefined> =>
  (value): value is T | undefined =>
    value === undefined || form(value);

export const either =
  <A, B>(one: Form<A>, other: Form<B>): Form<A | B> =>
  (value): value is A | B =>
    one(value) || other(value);

export const arrayOf =
  <T>(item: Form<T>): Form<readonly T[]> =>
  (value): value is readonly T[] =>
    Array.isArray(value) && value.every((each) => item(each));

export const pairOf =
  <T>(item: Form<T>): Form<readonly [T, T]> =>
  (value): value is readonly [T, T] =>
    Array.isArray(value) && value.length === 2 && item(value[0]) && item(value[1]);

export const mapOf =
  <T>(member: Form<T>): Form<Readonly<Record<string, T>>> =>
  (value): value is Readonly<Record<string, T>> =>
    anyObject(value) && Object.values(value).every((each) => member(each));

/** Every member of the type must be listed: code that adds a member to the type and forgets it here does not compile. */
export function object<T extends object>(members: { readonly [Name in keyof T]-?: Form<T[Name]> }): Form<T> {
  const named = Object.entries<Form<unknown>>(members);
  const misfit = (value: unknown): string | undefined => (anyObject(value) ? named.find(([name, form]) => !form(value[name]))?.[0] : undefined);
  return Object.assign((value: unknown): value is T => anyObject(value) && named.every(([name, form]) => form(value[name])), { misfit });
}

/** Reads one kind of record: returns the stored value, or throws `store_damaged` with the key. */
export const storedAs =
  <T>(form: Form<T>) =>
  ({ key, value }: { readonly key: string; readonly value: Json }): T => {
    if (form(value)) return value;
    throw damaged(key, form.misfit?.(value));
  };

const damaged = (key: string, member: string | undefined): HoldfastError =>
  new HoldfastError("store_damaged", `The stored record ${JSON.stringify(key)} is damaged: ${member === undefined ? "it" : member} has an unexpected type or value.`, {
    hint: "Restore an earlier state with `holdfast restore`, or load a backup.",
    details: { key, ...(member === undefined ? {} : { member }) },
  });

/** A record in its stored form. JSON has no undefined, so unset members are left out. */
export const toStored = (record: object): Json => Object.fromEntries(Object.entries(record).filter(([, member]) => member !== undefined)) as Json;
