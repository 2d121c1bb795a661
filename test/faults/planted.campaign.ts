import { copyFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { CampaignResult } from "../../src/verify/campaign.ts";
import { faultsIn, printFigures, shows, untilFound } from "../support/campaign.ts";
import { checkTokens } from "../support/engine-faults/check-loss.ts";
import type { LoadOptions } from "../support/engine-faults/engine-load.ts";
import { EngineLoad } from "../support/engine-faults/engine-load.ts";
import type { Fault } from "../support/faulty-engine.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

async function workFor(ms: number, options: Partial<Pick<LoadOptions, "fault" | "deadlineMs">> = {}): Promise<CampaignResult> {
  const load = await EngineLoad.start({ url: `sqlite:${join(await temporaryFolder(), "holdfast.db")}`, deadlineMs: 300, ...options });
  await load.workFor(ms, 60);
  await load.stop();
  return load.audit();
}

/** What the audit finds in a load whose engine has the fault. */
const found = (isShown: (faults: readonly string[]) => boolean, ms: number, fault: Fault): Promise<readonly string[]> => untilFound(() => workFor(ms, { fault }), isShown);
/** That and nothing else: on a busy machine others may come late too, so it is asked again. */
const only =
  (wanted: string) =>
  (faults: readonly string[]): boolean =>
    faults.length === 1 && faults[0] === wanted;

describe("the audit of a load", () => {
  test("finds nothing where nothing is wrong", async () => {
    const startedMs = performance.now();
    // A file has no deadline of its own: this one leaves a busy disk the time that it needs.
    let result = await workFor(700, { deadlineMs: 5_000 });
    // How often a lease is taken is chance: again, until it was a few times.
    for (let loads = 1; loads < 5 && result.violations.length === 0 && (result.figures.grants ?? 0) <= 5; loads += 1) result = await workFor(700, { deadlineMs: 5_000 });
    printFigures("nothing wrong", result, startedMs);
    expect(result.violations).toEqual([]);
    expect(result.figures.commits_acknowledged).toBeGreaterThan(50);
    expect(result.figures.grants).toBeGreaterThan(5);
  });

  test("finds a watcher that skips", async () => {
    expect(await found(shows("missing"), 500, "lostLogRecords")).toContain("missing");
  });

  test("finds a call that never ends", async () => {
    expect(await found(only("call_never_ended"), 200, "endlessReads")).toEqual(["call_never_ended"]);
  });

  test("finds a call that ends too late", async () => {
    expect(await found(only("call_too_late"), 200, "lateReads")).toEqual(["call_too_late"]);
  });

  test("finds updates that overtook each other", async () => {
    expect(await found(shows("stale_increment"), 500, "droppedChecks")).toContain("stale_increment");
  });

  test("finds request keys that are forgotten", async () => {
    expect(await found(shows("answers_differ"), 500, "forgottenRequestKeys")).toContain("answers_differ");
  });

  test("finds revisions, versions and tokens that are given again after an old copy was put in place and nothing said so", async () => {
    const folder = await temporaryFolder();
    const [path, copy] = [join(folder, "holdfast.db"), join(folder, "copy.db")];
    const url = `sqlite:${path}`;
    const load = await EngineLoad.start({ url, deadlineMs: 300 });
    await load.workFor(200, 60);
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
