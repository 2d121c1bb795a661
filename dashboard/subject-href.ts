import type { ActivityItem } from "../src/surfaces/dashboard/api.ts";
import { hrefOf } from "./router.ts";

const claimPrefix = "workflow/";

/** The run that a claim's lease belongs to. */
export const runOfLease = (resource: string): string | undefined => (resource.startsWith(claimPrefix) ? resource.slice(claimPrefix.length) : undefined);

/** The address that shows the subject of a change; with the revision, what that change did. */
export function subjectHref(
  namespace: string,
  { kind, subject, written, revision }: Pick<ActivityItem, "kind" | "subject" | "written"> & { readonly revision?: number },
): string | undefined {
  const then = { revision: revision === undefined ? undefined : String(revision) };
  if (subject === "") return undefined;
  if (kind === "state") return hrefOf(namespace, "keys", subject, then);
  if (kind === "workflow") return hrefOf(namespace, "runs", subject);
  if (kind === "effect") return hrefOf(namespace, "effects", subject);
  if (kind === "knowledge") return hrefOf(namespace, "knowledge", subject, then);
  if (kind === "checkpoint") return hrefOf(namespace, written === "research" ? "research" : "journal", subject);
  if (kind !== "lease") return undefined;
  const run = runOfLease(subject);
  return run === undefined ? hrefOf(namespace, "leases", undefined, { resource: subject }) : hrefOf(namespace, "runs", run);
}
