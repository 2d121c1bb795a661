import { auditBlobs } from "../../domain/blobs/audit-blobs.ts";
import type { Clock } from "../../kernel/clock.ts";
import { isHoldfastError } from "../../kernel/errors.ts";
import { isReservedNamespace, openNamespaceStore } from "../../store/namespace-store.ts";
import type { Engine } from "../../store/store.ts";
import type { Finding } from "./doctor.ts";

/** Reads the content of every blob of the store; nothing if there are none. */
export async function blobsFindings(engine: Engine, clock: Clock, namespaces: readonly string[], onRecords: (count: number) => void): Promise<Finding[]> {
  const findings: Finding[] = [];
  let [blobs, unnamed, overdue] = [0, 0, 0];
  for (const namespace of namespaces.filter((name) => !isReservedNamespace(name))) {
    try {
      const audit = await auditBlobs(openNamespaceStore(engine, namespace, clock), onRecords);
      blobs += audit.blobs;
      unnamed += audit.unnamed;
      overdue += audit.overdue;
      for (const { says } of audit.problems)
        findings.push({
          check: "blobs",
          status: "fail",
          says: `namespace ${namespace}: ${says}`,
          fix: "Put the content again, or restore a backup. Entries that name the blob show what it was.",
        });
    } catch (error) {
      // Damaged records are reported on their own, and a sealed namespace cannot be read.
      if (!["store_damaged", "moved", "unavailable"].some((code) => isHoldfastError(error) && error.code === code)) throw error;
    }
  }
  if (findings.length > 0 || blobs + unnamed === 0) return findings;
  const waiting = unnamed === 0 ? "" : `; ${unnamed} unnamed blobs and chunks wait to be removed${overdue === 0 ? "" : `, ${overdue} for longer than the grace time`}`;
  return [{ check: "blobs", status: "ok", says: `${blobs} ${blobs === 1 ? "blob" : "blobs"} read back whole${waiting}` }];
}
