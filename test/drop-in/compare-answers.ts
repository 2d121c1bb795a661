/** One way in which an answer is not the original's. */
export interface Difference {
  /** The tool, or the method of a listing. */
  readonly call: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /**
   * - missing, added, changed: a field that only the original has, that only Holdfast has, or that has another value.
   * - refused, accepted: an error where the original answers, or the other way round.
   * - wording: another text. lost, shown: a value out of some request that only the original's text shows, or only ours.
   */
  readonly kind: "missing" | "added" | "changed" | "refused" | "accepted" | "wording" | "lost" | "shown";
  /** The field, with * for a place in a list. */
  readonly path: string;
  readonly theirs?: unknown;
  readonly ours?: unknown;
}

export type Found = Pick<Difference, "kind" | "path" | "theirs" | "ours">;

/** These differ from run to run: only their form is compared. */
const volatile = new Set(["run_id", "updated_at", "created_at", "expires_at", "written_at", "uptime_s", "id", "checkpointId"]);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null && !Array.isArray(value);
const formOf = (value: unknown): unknown => (typeof value === "string" ? value.replaceAll(/[0-9a-f]/g, "0") : typeof value);

export function compareFields(theirs: unknown, ours: unknown, path = ""): readonly Found[] {
  const below = (name: string): string => (path === "" ? name : `${path}.${name}`);
  if (isObject(theirs) && isObject(ours))
    return [...new Set([...Object.keys(theirs), ...Object.keys(ours)])].flatMap((name): readonly Found[] => {
      if (!Object.hasOwn(ours, name)) return [{ kind: "missing", path: below(name), theirs: theirs[name] }];
      if (!Object.hasOwn(theirs, name)) return [{ kind: "added", path: below(name), ours: ours[name] }];
      return compareFields(theirs[name], ours[name], below(name));
    });
  if (Array.isArray(theirs) && Array.isArray(ours) && theirs.length === ours.length) return theirs.flatMap((item, i) => compareFields(item, ours[i], below("*")));
  const isVolatile = volatile.has(path.split(".").at(-1) as string) && theirs !== null && ours !== null;
  const isSame = isVolatile ? formOf(theirs) === formOf(ours) : JSON.stringify(theirs) === JSON.stringify(ours);
  return isSame ? [] : [{ kind: "changed", path, theirs, ours }];
}

/** Texts are free in their words, not in what they tell: values that callers have sent must stand in both or in neither. */
export function compareTexts(theirs: string, ours: string, sent: ReadonlySet<string>): readonly Found[] {
  if (theirs === ours) return [];
  const values = [...sent].filter((value) => value.length > 2);
  return [
    { kind: "wording", path: "", theirs, ours },
    ...values.filter((value) => theirs.includes(value) && !ours.includes(value)).map((value): Found => ({ kind: "lost", path: "", theirs: value })),
    ...values.filter((value) => !theirs.includes(value) && ours.includes(value)).map((value): Found => ({ kind: "shown", path: "", ours: value })),
  ];
}

/** Every text in a value, however deep. */
export const textsIn = (value: unknown): readonly string[] =>
  typeof value === "string" ? [value] : typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
