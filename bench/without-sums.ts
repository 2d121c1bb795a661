/** Stands in for ledger/record-sum.ts in the floor of sums.ts: the same records, with sums that are neither computed nor compared. */
import type * as sums from "../src/ledger/record-sum.ts";
import { sealedJson } from "../src/ledger/record-sum.ts";

export * from "../src/ledger/record-sum.ts";

const none = (): number => 0;
// Typed like the originals: otherwise, a sum that is renamed there would silently be computed in the floor too.
export const logPositionSum: typeof sums.logPositionSum = none;
export const textSum: typeof sums.textSum = none;
export const versionSum: typeof sums.versionSum = none;
export const entrySum: typeof sums.entrySum = none;
export const keyedSum: typeof sums.keyedSum = none;
export const slotSum: typeof sums.slotSum = none;
export const logRowSum: typeof sums.logRowSum = none;
export const linkSum: typeof sums.linkSum = none;
export const tombstoneSum: typeof sums.tombstoneSum = none;
export const requestSum: typeof sums.requestSum = none;
export const documentSum: typeof sums.documentSum = none;
export const termSum: typeof sums.termSum = none;
export const postingSum: typeof sums.postingSum = none;
export const requireSum: typeof sums.requireSum = () => {};
export const sealValue: typeof sums.sealValue = (_entry, json) => `000000${json ?? ""}`;
export const requireValue: typeof sums.requireValue = (_entry, stored) => sealedJson(stored as string);
