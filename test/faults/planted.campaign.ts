import { copyFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { CampaignResult } from "../../src/verify/campaign.ts";
import { faultsIn, runAndPrint } from "../support/campaign.ts";
import { checkTokens } from "../support/engine-faults/check-loss.ts";
import type { LoadOptions } from "../support/engine-faults/engine-load.ts";
import { EngineLoad } from "../support/engine-faults/engine-load.ts";
import type { LoadJournal } from "../support/engine-faults/load-journal.ts";
import { faultyRead, lateMs } from "../support/faulty-engine.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A load on a file, whose engine may have a fault, until the journal has what must show it; and what the audit says. */
async function auditAfter(isShown: (journal: LoadJournal) => boolean, options: Partial<Pick<LoadOptions, "fault" | "deadlineMs">> = {}): Promise<CampaignResult> {
  const load = await EngineLoad.start({ url: `sqlite:${join(await temporaryFolder(), "holdfast.db")}`, deadlineMs: 300, ...options });
  await load.until(() => [...load.journals.values()].every(isShown));
  await load.stop();
  return load.audit();
}

const hasReads =
  (count: number) =>
  ({ calls }: LoadJournal): boolean => {
    const reads = new Map<string, number>();
    for (const { client, kind } of calls) if (kind === "read") reads.set(client, (reads.get(client) ?? 0) + 1);
    return Math.max(...reads.values()) >= count;
  };

/** Two increments of one counter that were told that they had made the same of it. */
function hasOvertaken({ requests }: LoadJournal): boolean {
  const made = [...requests.values()].filter(({ answers }) => answers[0]?.ok === true).map(({ key, count }) => `${key} ${count}`);
  return new Set(made).size < made.length;
}

describe("the audit of a load", () => {
  test("finds nothing where nothing is wrong", async () => {
    // A file has no deadline of its own: this one leaves a busy disk the time that it needs.
    const isShown = ({ commits, grants }: LoadJournal): boolean => commits.acknowledged.length > 50 && grants.length > 5;
    const result = await runAndPrint("nothing wrong", () => auditAfter(isShown, { deadlineMs: 5_000 }));
    expect(result.violations).toEqual([]);
  });

  test("finds a watcher that skips", async () => {
    expect(faultsIn(await auditAfter(({ commits }) => commits.acknowledged.length > 20, { fault: "lostLogRecords" }))).toContain("missing");
  });

  test("finds a call that never ends, and nothing else but that a busy disk is late", async () => {
    const found = faultsIn(await auditAfter(hasReads(faultyRead), { fault: "endlessReads" }));
    expect(found.filter((fault) => fault !== "call_too_late")).toEqual(["call_never_ended"]);
  });

  test("finds a call that ends too late, and nothing else", async () => {
    const areLate = ({ calls }: LoadJournal): boolean => calls.filter(({ kind, tookMs = 0 }) => kind === "read" && tookMs >= lateMs).length >= 2;
    expect(faultsIn(await auditAfter(areLate, { fault: "lateReads" }))).toEqual(["call_too_late"]);
  });

  test("finds updates that overtook each other", async () => {
    expect(faultsIn(await auditAfter(hasOvertaken, { fault: "droppedChecks" }))).toContain("stale_increment");
  });

  test("finds request keys that are forgotten", async () => {
    const isAskedAgain = ({ requests }: LoadJournal): boolean => [...requests.values()].some(({ answers }) => answers[0]?.ok === true && answers.length > 1);
    expect(faultsIn(await auditAfter(isAskedAgain, { fault: "forgottenRequestKeys" }))).toContain("answers_differ");
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
    while (checkTokens(grants()).every(({ fault }) => fault !== "token_given_again")) {
      await load.kill();
      for (const left of [path, `${path}-wal`, `${path}-shm`, `${path}-bell`]) await rm(left, { force: true });
      await copyFile(copy, path);
      await load.join(2);
      await load.workFor(200, 20);
    }
    await load.stop();
    expect(faultsIn(await load.audit())).toEqual(expect.arrayContaining(["revision_given_again", "version_given_again", "token_given_again"]));
  });
});
