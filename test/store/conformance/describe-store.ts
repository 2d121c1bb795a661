import { describe } from "vitest";
import { atomicityCases } from "./atomicity.ts";
import { checkCases } from "./checks.ts";
import { compactionCases } from "./compaction.ts";
import { expiryCases } from "./expiry.ts";
import type { OpenEngine } from "./fixture.ts";
import { hostileCases } from "./hostile.ts";
import { logCases } from "./log.ts";
import { movingCases, movingRestartCases } from "./moving.ts";
import { namespaceCases } from "./namespaces.ts";
import { readCases } from "./reads.ts";
import { requestKeyCases } from "./request-keys.ts";
import { restartCases } from "./restart.ts";
import { searchCases } from "./search.ts";
import { timeTravelCases } from "./time-travel.ts";
import { versionCases } from "./versions.ts";
import { watchCases } from "./watch.ts";

export interface StoreTraits {
  /** What was acknowledged is still there after closing and opening again. */
  readonly durable: boolean;
}

/**
 * The conformance suite: every sentence of src/store/store.ts, asked of one engine.
 * An engine belongs to Holdfast when it passes all of it; there are no skips but what `traits` says.
 */
export function describeStore(name: string, open: OpenEngine, traits: StoreTraits): void {
  describe(`${name} as a store`, () => {
    describe("reads", () => readCases(open));
    describe("checks", () => checkCases(open));
    describe("versions and revisions (G4)", () => versionCases(open));
    describe("atomic commits and batches (G5)", () => atomicityCases(open));
    describe("expiry (G6)", () => expiryCases(open));
    describe("reading the past", () => timeTravelCases(open));
    describe("the log (G11)", () => logCases(open));
    describe("compaction", () => compactionCases(open));
    describe("watch (G10)", () => watchCases(open));
    describe("request keys (G9)", () => requestKeyCases(open));
    describe("search (G16)", () => searchCases(open));
    describe("namespaces and health", () => namespaceCases(open));
    describe("hostile keys and values (G19)", () => hostileCases(open));
    describe("moving", () => movingCases(open));
    if (traits.durable) describe("closing and opening again (G1, G4)", () => restartCases(open));
    if (traits.durable) describe("moving, closing and opening again", () => movingRestartCases(open));
  });
}
