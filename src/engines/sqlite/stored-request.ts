import type { PlannedRequest } from "../../ledger/plan-batch.ts";
import { requestSum, requireSum } from "../../ledger/record-sum.ts";
import type { Committed, StoredRequest } from "../../store/store.ts";
import type { Connection } from "./connection.ts";

export function readStoredRequest(connection: Connection, namespaceId: number, key: string, nowMs: number): StoredRequest | undefined {
  const row = connection.statement("SELECT fingerprint, kept_until, outcome, sum FROM request WHERE ns = ? AND key = ?").get(namespaceId, key) as
    | { readonly fingerprint: string; readonly kept_until: number; readonly outcome: string; readonly sum: number }
    | undefined;
  if (row === undefined) return undefined;
  requireSum(requestSum(namespaceId, key, row.fingerprint, row.kept_until, row.outcome), row.sum, requestName, key);
  return row.kept_until > nowMs ? { fingerprint: row.fingerprint, outcome: JSON.parse(row.outcome) as Committed } : undefined;
}

export function keepRequest(connection: Connection, namespaceId: number, { key, fingerprint, keptUntilMs, outcome }: PlannedRequest): void {
  const text = JSON.stringify(outcome);
  connection
    .statement("INSERT OR REPLACE INTO request VALUES (?, ?, ?, ?, ?, ?)")
    .get(namespaceId, key, fingerprint, keptUntilMs, text, requestSum(namespaceId, key, fingerprint, keptUntilMs, text));
}

/** Deletes expired request keys, oldest first. */
export function forgetRequests(connection: Connection, namespaceId: number, { nowMs, count }: { readonly nowMs: number; readonly count: number }): void {
  connection
    .statement("DELETE FROM request WHERE ns = ?1 AND key IN (SELECT key FROM request INDEXED BY request_by_age WHERE ns = ?1 AND kept_until <= ?2 ORDER BY kept_until LIMIT ?3)")
    .run(namespaceId, nowMs, count);
}

export const requestName = (key: unknown): string => `request key ${JSON.stringify(String(key).slice(0, 200))}`;
