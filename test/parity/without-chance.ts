/** Where chance, or the process, decides: the fixed part before it, and what was drawn. Each kind is numbered for itself. */
const drawn: readonly RegExp[] = [
  /(\bwf-)([0-9a-f]{12})\b/g,
  /(\bsession-)([0-9a-f]{12})\b/g,
  // A journal entry: only the last four digits of its id are chance.
  /(\bcp-\d{8}-\d{6}-[0-9a-f]{8})([0-9a-f]{4})\b/g,
  // A ticket in the line for a lease.
  /(\/\d{16}-)([0-9a-f]{8})\b/g,
  // A run's place: the revision it saw, then a number that the process counts up.
  /(\b\d{16})(\d{16})\b/g,
];

/**
 * Replaces what chance decided by the order in which it first appeared, the same way throughout one telling: two tellings of the same story
 * are then equal, and an id that is taken for another still shows. Cursors are opened first, because ids stand in them.
 */
export function openEyeForChance(): (value: unknown) => unknown {
  const known = drawn.map(() => new Map<string, number>());
  const plain = (text: string): string =>
    drawn.reduce(
      (rest, pattern, i) =>
        rest.replace(pattern, (_, fixed: string, chance: string) => {
          const seen = known[i] as Map<string, number>;
          if (!seen.has(chance)) seen.set(chance, seen.size + 1);
          return `${fixed}#${seen.get(chance)}`;
        }),
      text,
    );
  const strip = (value: unknown, name = ""): unknown => {
    if (typeof value === "string") return plain(name === "cursor" ? `opened: ${Buffer.from(value, "base64url").toString("utf8")}` : value);
    if (Array.isArray(value)) return value.map((item) => strip(item));
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).flatMap(([key, member]) => (member === undefined ? [] : [[plain(key), strip(member, key)]])));
  };
  return (value) => strip(value);
}
