import type { LogRow, NamespaceFacts, Revision } from "../../store/store.ts";
import type { Violation } from "./violation.ts";
import { Violations } from "./violation.ts";

export interface RevisionRun {
  /** The whole log, oldest first. */
  readonly rows: readonly LogRow[];
  /** The revisions that clients received for their own commits. */
  readonly acknowledged: readonly { readonly client: string; readonly revision: Revision }[];
  /** The final revision of the namespace. */
  readonly revision: Revision;
  /** The places where the namespace reports that its history was rolled back and continues at a higher revision. */
  readonly gaps?: NamespaceFacts["gaps"];
}

/** G4. Revisions are 1, 2, 3 … without gaps, each assigned to one commit; versions of a key only increase; time does not go backwards. */
export function checkRevisions({ rows, acknowledged, revision, gaps = [] }: RevisionRun): readonly Violation[] {
  const violations = new Violations("G4");
  const versions = new Map<string, number>();
  let previous: LogRow | undefined;
  for (const row of rows) {
    const before = previous?.revision ?? 0;
    if (row.revision > before + 1 && !gaps.some(([kept, base]) => kept === before && base + 1 === row.revision))
      violations.add("revision_gap", `Revision ${before} is followed by ${row.revision}.`);
    if (row.revision < before) violations.add("revision_went_back", `Revision ${before} is followed by ${row.revision}.`);
    if (row.revision === before && row.seq <= (previous?.seq ?? -1))
      violations.add("revision_reused", `Revision ${row.revision} has position ${row.seq} after position ${previous?.seq}.`);
    if (previous !== undefined && row.atMs < previous.atMs)
      violations.add("clock_went_back", `Revision ${row.revision} is dated ${previous.atMs - row.atMs} ms before the row ahead of it.`);
    const version = versions.get(row.key) ?? 0;
    if (row.op === "put" && row.version === version)
      violations.add("version_reused", `Version ${row.version} of ${row.key} was assigned twice, again at revision ${row.revision}.`);
    if (row.version < version) violations.add("version_went_back", `${row.key} went from version ${version} to ${row.version} at revision ${row.revision}.`);
    versions.set(row.key, row.version);
    previous = row;
  }
  if ((previous?.revision ?? 0) !== revision) violations.add("revision_differs", `The log ends at revision ${previous?.revision ?? 0}; the namespace is at ${revision}.`);
  const owners = new Map<Revision, string>();
  for (const { client, revision: taken } of acknowledged) {
    const owner = owners.get(taken);
    if (owner !== undefined) violations.add("revision_given_twice", `${owner} and ${client} both received revision ${taken}.`);
    owners.set(taken, client);
    if (taken > revision) violations.add("revision_unknown", `${client} received revision ${taken}; the newest is ${revision}.`);
  }
  return violations.list();
}
