import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { checkNode, fileFindings } from "../../src/surfaces/cli/doctor.ts";
import { openCommandLine } from "../support/cli-host.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-doctor-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Report {
  readonly ok: boolean;
  readonly findings: readonly { readonly check: string; readonly status: string; readonly says: string; readonly fix?: string }[];
}
const find = (report: Report, check: string) => report.findings.filter((finding) => finding.check === check);

describe("doctor", () => {
  test("says where the store is, what a write survives and what each profile costs", async () => {
    const { json, run } = openCommandLine();
    const report = (await json("doctor")) as unknown as Report;
    expect(report.ok).toBe(true);
    expect(find(report, "store")[0]).toMatchObject({ status: "ok", says: expect.stringContaining("memory: (from HOLDFAST_STORE), namespace default at revision 0") });
    expect(find(report, "clock")[0]).toMatchObject({ status: "ok" });
    expect(find(report, "durability")[0]).toMatchObject({ status: "warn", fix: expect.stringContaining("sqlite:") });
    expect(find(report, "profiles")[0]?.says).toMatch(/coding \d+ tools, about \d{3,} tokens/);
    expect(await run(["doctor"])).toMatchObject({ code: 0, stdout: expect.stringMatching(/warn {2}durability.*\n.*fix: /) });
  });

  test("names what is stuck: a run whose worker went away, a lease held for hours, a line of waiters", async () => {
    const { json, clock, run } = openCommandLine();
    const { run_id } = await json("workflow", "create", "nightly");
    await json("workflow", "claim", String(run_id), "--ttl", "10m", "--agent", "worker-1");
    await json("workflow", "checkpoint", String(run_id), "3", '"x"', "--agent", "worker-1");
    await json("lease", "acquire", "deploy", "--ttl", "3h", "--agent", "holder-1");
    const fresh = (await json("doctor")) as unknown as Report;
    for (const check of ["claims", "leases", "waiting lines"]) expect(find(fresh, check)[0]).toMatchObject({ status: "ok" });
    clock.advance(2 * 3_600_000);
    const waiter = run(["lease", "acquire", "deploy", "--wait", "30s", "--agent", "waiter"]);
    while (clock.sleeping() === 0) await new Promise((resolve) => setImmediate(resolve));
    const stuck = (await json("doctor")) as unknown as Report;
    expect(find(stuck, "claims")[0]).toMatchObject({
      status: "warn",
      says: expect.stringMatching(new RegExp(`${run_id} \\(nightly, last held by worker-1, step 3\\)`)),
      fix: expect.any(String),
    });
    expect(find(stuck, "leases")[0]).toMatchObject({ status: "warn", says: expect.stringContaining("deploy (holder-1, for 2h)") });
    expect(find(stuck, "waiting lines")[0]).toMatchObject({ status: "warn", says: expect.stringContaining("deploy (held by holder-1)") });
    clock.advance(31_000);
    await waiter;
  });

  test("counts the active notes that have no questions, and says how to add some", async () => {
    const { json, run } = openCommandLine();
    const notes = async () => find((await json("doctor")) as unknown as Report, "notes");
    expect(await notes()).toEqual([]);
    await run(["knowledge", "save", "asked", "Sixty a minute.", "--question", "How often may I call?"]);
    expect(await notes()).toEqual([{ check: "notes", status: "ok", says: "1 active note has questions to be found by" }]);
    for (let i = 0; i < 60; i += 1) await run(["knowledge", "save", `bare-${i}`, `Fact ${i}`]);
    await run(["knowledge", "save", "old", "Gone.", "--status", "deprecated"]);
    await run(["knowledge", "save", "bad", "Wrong.", "--trust", "quarantined"]);
    expect(await notes()).toEqual([
      {
        check: "notes",
        status: "warn",
        says: "60 of 61 active notes have no questions, so a question in other words hardly finds them",
        fix: expect.stringContaining("prompt enrich"),
      },
    ]);
  });

  test("--deep reads every record back", async () => {
    const { run, json } = openCommandLine();
    const records = async () => find((await json("doctor", "--deep")) as unknown as Report, "records");
    // Each of these writes a row of the log and a key.
    for (const count of [2, 4, 6]) {
      await run(["set", `k${count}`, "1"]);
      expect(await records()).toEqual([{ check: "records", status: "ok", says: `${count} records of 1 namespace read back whole` }]);
    }
  });

  test("a Node that is too old fails, one without security fixes is a warning", () => {
    expect(checkNode("20.18.9").status).toBe("fail");
    expect(checkNode("18.20.0").status).toBe("fail");
    expect(checkNode("20.19.0").status).toBe("warn");
    expect(checkNode("24.21.0").status).toBe("ok");
  });

  test.skipIf(process.platform === "win32")("a file that others may read is reported with the command that fixes it", async () => {
    const path = join(folder, "x.db");
    writeFileSync(path, "");
    chmodSync(path, 0o644);
    expect((await fileFindings(`sqlite:${path}`))[0]).toMatchObject({ status: "warn", fix: `chmod 600 ${path}` });
    chmodSync(path, 0o600);
    expect((await fileFindings(`sqlite:${path}`))[0]).toMatchObject({ status: "ok" });
    chmodSync(folder, 0o777);
    expect((await fileFindings(`sqlite:${path}`))[0]).toMatchObject({ status: "warn", fix: `chmod o-w ${folder}` });
    chmodSync(folder, 0o700);
  });
});
