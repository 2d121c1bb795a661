import type { ActivityItem } from "../src/surfaces/dashboard/api.ts";
import { hrefOf } from "./router.ts";

const claimPrefix = "workflow/";

/** The run whose claim a lease is. */
export const runOfLease = (resource: string): string | undefined => (resource.startsWith(claimPrefix) ? resource.slice(claimPrefix.length) : undefined);

/** Where a thing that something was done to is shown. */
export function subjectHref(namespace: string, { kind, subject, written }: Pick<ActivityItem, "kind" | "subject" | "written">): string | undefined {
  if (subject === "") return undefined;
  if (kind === "state") return hrefOf(namespace, "keys", subject);
  if (kind === "workflow") return hrefOf(namespace, "runs", subject);
  if (kind === "knowledge") return hrefOf(namespace, "knowledge", subject);
  if (kind === "checkpoint") return hrefOf(namespace, written === "research" ? "research" : "journal", subject);
  if (kind !== "lease") return undefined;
  const run = runOfLease(subject);
  return run === undefined ? hrefOf(namespace, "leases", undefined, { resource: subject }) : hrefOf(namespace, "runs", run);
}
