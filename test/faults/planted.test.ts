import { copyFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { CampaignResult } from "../../src/verify/campaign.ts";
import { faultsIn, printFigures } from "../support/campaign.ts";
import { checkTokens } from "../support/engine-faults/check-loss.ts";
import type { LoadOptions } from "../support/engine-faults/engine-load.ts";
import { EngineLoad } from "../support/engine-faults/engine-load.ts";
import type { Fault } from "../support/faulty-engine.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

async function workFor(ms: number, options: Pick<LoadOptions, "fault"> = {}): Promise<CampaignResult> {
  const load = await EngineLoad.start({ url: `sqlite:${join(await temporaryFolder(), "holdfast.db")}`, deadlineMs: 300, ...options });
  await load.work(ms);
  await load.stop();
  return load.audit();
}

/** What the audit finds in a load whose engine has the fault; how many of its calls meet in so short a time is chance, so it works again until they have. */
async function found(wanted: string, ms: number, fault: Fault): Promise<readonly string[]> {
  let faults: readonly string[] = [];
  for (let loads = 0; loads < 5 && !faults.includes(wanted); loads += 1) faults = faultsIn(await workFor(ms, { fault }));
  return faults;
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
    expect(await found("missing", 500, "lostLogRecords")).toContain("missing");
  });

  test("finds a call that never ends", { timeout: 60_000 }, async () => {
    expect(await found("call_never_ended", 200, "endlessReads")).toEqual(["call_never_ended"]);
  });

  test("finds a call that ends too late", { timeout: 60_000 }, async () => {
    expect(await found("call_too_late", 200, "lateReads")).toEqual(["call_too_late"]);
  });

  test("finds updates that overtook each other", { timeout: 60_000 }, async () => {
    expect(await found("stale_increment", 500, "droppedChecks")).toContain("stale_increment");
  });

  test("finds request keys that are forgotten", { timeout: 60_000 }, async () => {
    expect(await found("answers_differ", 500, "forgottenRequestKeys")).toContain("answers_differ");
  });

  test("finds revisions, versions and tokens that are given again after an old copy was put in place and nothing said so", { timeout: 60_000 }, async () => {
    const folder = await temporaryFolder();
    const [path, copy] = [join(folder, "holdfast.db"), join(folder, "copy.db")];
    const url = `sqlite:${path}`;
    const load = await EngineLoad.start({ url, deadlineMs: 300 });
    await load.work(200);
    await load.kill();
    await copyFile(path, copy);
    // A token is the revision of its grant: two grants must fall on the same one, so the copy is put in place until they have.
    const grants = () => [...load.journals.values()].flatMap((journal) => journal.grants);
    for (let puts = 0; puts < 20 && checkTokens(grants()).every(({ fault }) => fault !== "token_given_again"); puts += 1) {
      await load.kill();
      for (const left of [path, `${path}-wal`, `${path}-shm`]) await rm(left, { force: true });
      await copyFile(copy, path);
      await load.join(2);
      await load.work(200);
    }
    await load.stop();
    expect(faultsIn(await load.audit())).toEqual(expect.arrayContaining(["revision_given_again", "version_given_again", "token_given_again"]));
  });
});
