import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { PowerLossResult, PowerLossRun } from "../support/power-loss/crash-states.ts";
import { runPowerLoss } from "../support/power-loss/crash-states.ts";
import { readTrace } from "../support/power-loss/read-trace.ts";
import { scaled } from "../support/scale.ts";

const size = { groups: [3, 1, 2], actions: 40, seed: 20_261_115 } as const;
const states = { kept: scaled(2_000, 200), normal: scaled(300, 100), withoutFolderSyncs: scaled(60, 30) } as const;

async function runAndPrint(run: PowerLossRun): Promise<PowerLossResult> {
  const startedMs = performance.now();
  const result = await runPowerLoss(run);
  const seconds = (performance.now() - startedMs) / 1_000;
  console.log(
    `power loss (synchronous=${run.normal ? "NORMAL, planted" : "FULL"}): states ${result.states}, bad ${result.bad}, at risk ${result.statesAtRisk}, disk events ${result.diskEvents}, syncs ${result.syncs}, ` +
      `commits acknowledged ${result.acknowledged}, faults ${JSON.stringify(result.faults)}${result.firstDetail === undefined ? "" : `, first: ${result.firstDetail}`}; ${seconds.toFixed(1)} s`,
  );
  return result;
}

describe("a loss of power (G1)", () => {
  test(`takes nothing that was acknowledged, in any of ${states.kept} states that the disk could be left in`, async () => {
    const result = await runAndPrint({ ...size, states: states.kept });
    expect(result.firstDetail).toBeUndefined();
    expect(result).toMatchObject({ states: states.kept, bad: 0 });
    // A disk on which nothing is ever at risk would pass anything.
    expect(result.statesAtRisk).toBeGreaterThan(states.kept / 4);
    expect(result.acknowledged).toBeGreaterThan(100);
  });

  test("is seen to take acknowledged writes when SQLite is set to synchronous=NORMAL", async () => {
    const result = await runAndPrint({ ...size, states: states.normal, normal: true });
    expect(result.bad).toBeGreaterThan(states.normal / 3);
    expect(result.faults.acknowledged_commit_missing).toBeGreaterThan(states.normal / 6);
  });

  test("is seen to take a whole store when the folders that lead to it were not synced", async () => {
    const result = await runAndPrint({ groups: [1], actions: 10, seed: 7, states: states.withoutFolderSyncs, withoutFolderSyncs: true });
    expect(result.faults.acknowledged_commit_missing).toBeGreaterThan(states.withoutFolderSyncs / 12);
  });
});

describe("reading a trace", () => {
  const hex = (text: string): string => [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
  const read = async (lines: readonly string[]) => {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-trace-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, "trace"), `${lines.join("\n")}\n`);
    return readTrace(join(folder, "trace"), (path) => path.startsWith("/ours/"));
  };

  test("puts the two halves of an interrupted call together, at the time of its end", async () => {
    const file = hex("/ours/db");
    const events = await read([
      `1 openat(AT_FDCWD<${hex("/")}>, "${file}", O_RDWR|O_CREAT|O_CLOEXEC, 0600) = 3<${file}>`,
      `1 pwrite64(3<${file}>, "${hex("abc")}", 3, 4096 <unfinished ...>`,
      `2 fdatasync(4<${hex("/theirs/db")}>) = 0`,
      "1 <... pwrite64 resumed>) = 3",
      `1 fdatasync(3<${file}>) = 0`,
      `1 unlink("${file}") = -1 ENOENT (No such file or directory)`,
    ]);
    expect(events).toEqual([
      { what: "create", path: "/ours/db", truncates: false },
      { what: "write", path: "/ours/db", offset: 4096, data: Buffer.from("abc") },
      { what: "sync", path: "/ours/db" },
    ]);
  });

  test.each([
    ["a call that the model does not know", `1 fallocate(3<${hex("/ours/db")}>, 0, 0, 10) = 0`],
    ["a write that was cut short", `1 pwrite64(3<${hex("/ours/db")}>, "${hex("abc")}", 3, 0) = 2`],
    ["a shared mapping that is written through", `1 mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3<${hex("/ours/db")}>, 0) = 0x7f0000000000`],
  ])("refuses %s", async (_, line) => {
    await expect(read([line])).rejects.toThrow(/The trace has a/);
  });
});
