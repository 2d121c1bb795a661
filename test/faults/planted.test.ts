import { copyFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { CampaignResult } from "../../src/verify/campaign.ts";
import { faultsIn, printFigures } from "../support/campaign.ts";
import type { LoadOptions } from "../support/engine-faults/engine-load.ts";
import { EngineLoad } from "../support/engine-faults/engine-load.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

async function workFor(ms: number, options: Pick<LoadOptions, "fault"> = {}): Promise<CampaignResult> {
  const load = await EngineLoad.start({ url: `sqlite:${join(await temporaryFolder(), "holdfast.db")}`, deadlineMs: 300, ...options });
  await load.work(ms);
  await load.stop();
  return load.audit();
}

describe("the audit of a load", () => {
  test("finds nothing where nothing is wrong", { timeout: 60_000 }, async () => {
    const startedMs = performance.now();
    const result = await workFor(700);
    printFigures("nothing wrong", result, startedMs);
    expect(result.violations).toEqual([]);
    expect(result.figures.commits_acknowledged).toBeGreaterThan(50);
    expect(result.figures.grants).toBeGreaterThan(5);
  });

  test("finds a watcher that skips", { timeout: 60_000 }, async () => {
    expect(faultsIn(await workFor(500, { fault: "lostLogRecords" }))).toContain("missing");
  });

  test("finds a call that never ends", { timeout: 60_000 }, async () => {
    expect(faultsIn(await workFor(200, { fault: "endlessReads" }))).toEqual(["call_never_ended"]);
  });

  test("finds a call that ends too late", { timeout: 60_000 }, async () => {
    expect(faultsIn(await workFor(200, { fault: "lateReads" }))).toEqual(["call_too_late"]);
  });

  test("finds updates that overtook each other", { timeout: 60_000 }, async () => {
    expect(faultsIn(await workFor(500, { fault: "droppedChecks" }))).toEqual(expect.arrayContaining(["stale_increment"]));
  });

  test("finds request keys that are forgotten", { timeout: 60_000 }, async () => {
    expect(faultsIn(await workFor(500, { fault: "forgottenRequestKeys" }))).toEqual(expect.arrayContaining(["answers_differ"]));
  });

  test("finds revisions, versions and tokens that are given again after an old copy was put in place and nothing said so", { timeout: 60_000 }, async () => {
    const folder = await temporaryFolder();
    const [path, copy] = [join(folder, "holdfast.db"), join(folder, "copy.db")];
    const url = `sqlite:${path}`;
    const load = await EngineLoad.start({ url, deadlineMs: 300 });
    await load.work(200);
    await load.kill();
    await copyFile(path, copy);
    await load.join(2);
    await load.work(200);
    await load.kill();
    for (const left of [path, `${path}-wal`, `${path}-shm`]) await rm(left, { force: true });
    await copyFile(copy, path);
    await load.join(2);
    await load.work(200);
    await load.stop();
    expect(faultsIn(await load.audit())).toEqual(expect.arrayContaining(["revision_given_again", "version_given_again", "token_given_again"]));
  });
});
