import { createHash } from "node:crypto";
import { join } from "node:path";
import { expect, test } from "vitest";
import { auditBlobs } from "../../src/domain/blobs/audit-blobs.ts";
import { blobKeys } from "../../src/domain/keyspace.ts";
import { readState, setState } from "../../src/domain/state/state.ts";
import { openEngine } from "../../src/engines/open-store.ts";
import type { Holdfast } from "../../src/index.ts";
import { openHoldfast } from "../../src/index.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { limits } from "../../src/store/limits.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { Engine } from "../../src/store/store.ts";
import { bindBlobs } from "../../src/surfaces/library/bind-blobs.ts";
import { exportLines } from "../../src/transfer/files/export-lines.ts";
import { loadExport, planLoad } from "../../src/transfer/files/load-export.ts";
import { writeFile } from "../../src/transfer/files/write-file.ts";
import { moveNamespace } from "../../src/transfer/stores/move-namespace.ts";
import { engines } from "../support/engines.ts";
import { manualClock } from "../support/manual-clock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runOnStores } from "./cli-stores.ts";
import { moveOptions, namespace } from "./moving-stores.ts";

/** Three chunks in which every byte and every pair of bytes occurs: what is no text in any encoding must arrive too. */
const content = new Uint8Array(2 * limits.chunkBytesMax + 12_345).map((_, i) => (i >> 8) * (i & 255) + i);
const hash = createHash("sha256").update(content).digest("hex");

const clock = manualClock();

function scopeOn(engine: Engine) {
  const scope = { store: openNamespaceStore(engine, namespace, clock), clock, writer: "mover" };
  return { ...scope, blobs: bindBlobs({ scope, claimTtlMs: 1, effectKeepMs: 1 }) };
}

async function expectWhole(engine: Engine): Promise<void> {
  const scope = scopeOn(engine);
  expect(await readState(scope, "owner")).toMatchObject({ value: { file: hash } });
  expect(Buffer.compare(await scope.blobs.get(hash), content)).toBe(0);
  expect(await auditBlobs(scope.store)).toEqual({ blobs: 1, chunks: 3, references: 1, unnamed: 0, overdue: 0, problems: [] });
}

test.each(engines.flatMap((from) => engines.filter((to) => to !== from).map((to) => ({ from, to, of: from.name, on: to.name }))))(
  "a blob is whole after it was moved from $of, and after it was exported there and imported, on $on",
  async ({ from, to }) => {
    await using source = await from.openOnClock(await from.freshUrl(), clock);
    const scope = scopeOn(source);
    await scope.blobs.put(content);
    await setState(scope, { key: "owner", value: { file: hash }, blobs: [hash] });
    await expectWhole(source);
    await using moved = await to.openOnClock(await to.freshUrl(), clock);
    expect(await moveNamespace(moveOptions(source, moved, clock, { staysOpen: true }))).toMatchObject({ ok: true });
    await expectWhole(moved);
    const path = join(await temporaryFolder(), "export.jsonl.gz");
    await writeFile(path, exportLines([{ engine: source, namespace }], "test"), { replaces: true });
    await using imported = await to.openOnClock(await to.freshUrl(), clock);
    const options = { engine: imported, clock, path, into: new Map([[namespace, namespace]]), leaps: false };
    await loadExport(options, await planLoad(options));
    await expectWhole(imported);
  },
);

test("a store restored as of an earlier revision has the blobs of that revision, and doctor reads them", async () => {
  const folder = await temporaryFolder();
  const [here, there] = ["here", "there"].map((name) => `sqlite:${join(folder, `${name}.db`)}`) as [string, string];
  let revision = 0;
  {
    await using holdfast = await openHoldfast({ store: here, maintain: false });
    await holdfast.blobs.put(content);
    const set = await holdfast.state.set("owner", { file: hash }, { blobs: [hash] });
    revision = set.ok ? set.revision : 0;
    await holdfast.state.delete("owner");
    await holdfast.blobs.put(new Uint8Array(10));
  }
  const backup = join(folder, "backup.jsonl.gz");
  expect(await runOnStores(["backup", backup, "--store", here])).toMatchObject({ code: 0 });
  expect(await runOnStores(["restore", backup, "--at", String(revision), "--store", there, "--yes"])).toMatchObject({ code: 0 });
  const chunks = await withHoldfast(there, async ({ blobs }) => {
    expect(Buffer.compare(await blobs.get(hash), content)).toBe(0);
    return (await blobs.find(hash))?.chunks ?? [];
  });
  const findings = async () => {
    const { code, stdout } = await runOnStores(["doctor", "--deep", "--store", there, "--json"]);
    return { code, found: (JSON.parse(stdout) as { findings: { check: string }[] }).findings.filter(({ check }) => check === "blobs") };
  };
  expect(await findings()).toEqual({ code: 0, found: [{ check: "blobs", status: "ok", says: "1 blob read back whole" }] });
  {
    await using engine = await openEngine(there);
    await openNamespaceStore(engine, "default", systemClock).commit({ writes: [{ op: "delete", key: blobKeys.chunk(chunks[1] as string) }], writer: "saboteur" });
  }
  const says = expect.stringContaining(`blob ${hash} lacks chunk ${chunks[1]}`);
  expect(await findings()).toMatchObject({ code: 7, found: expect.arrayContaining([expect.objectContaining({ status: "fail", says })]) });
});

async function withHoldfast<T>(store: string, work: (holdfast: Holdfast) => Promise<T>): Promise<T> {
  await using holdfast = await openHoldfast({ store, maintain: false });
  return await work(holdfast);
}
