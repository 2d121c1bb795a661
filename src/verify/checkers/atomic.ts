import type { Violation } from "./violation.ts";
import { Violations } from "./violation.ts";

/** One read at one revision, with the value of each member of a group. */
export interface Sighting {
  readonly by: string;
  readonly revision: number;
  readonly values: Readonly<Record<string, unknown>>;
}

/**
 * G5. The members of a group are only ever written together, with the same value. Every observer, by a read or by a watch,
 * sees either every member with one value or, before the first commit, none.
 */
export function checkAtomic(members: readonly string[], sightings: readonly Sighting[]): readonly Violation[] {
  const violations = new Violations("G5");
  for (const { by, revision, values } of sightings) {
    const present = members.filter((member) => member in values);
    if (present.length !== 0 && present.length !== members.length)
      violations.add(
        "part_missing",
        `${by} saw ${present.length} of ${members.length} members at revision ${revision}; ${members.filter((member) => !(member in values)).join(", ")} missing.`,
      );
    const different = new Set(present.map((member) => JSON.stringify(values[member])));
    if (different.size > 1) violations.add("part_differs", `${by} saw ${different.size} different values at revision ${revision}: ${[...different].join(", ")}.`);
  }
  return violations.list();
}
