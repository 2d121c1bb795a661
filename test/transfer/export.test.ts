import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { MemoryEngine } from "../../src/engines/memory/memory-engine.ts";
import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import type { Store } from "../../src/store/store.ts";
import { exportLines } from "../../src/transfer/files/export-lines.ts";
import { loadExport, planLoad } from "../../src/transfer/files/load-export.ts";
import { writeFile } from "../../src/transfer/files/write-file.ts";
import { wholeDump } from "../store/conformance/whole-dump.ts";
import { answer, history } from "../store/histories.ts";
import { manualClock } from "../support/manual-clock.ts";
import { propertySeed } from "../support/property-seed.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runOnStores } from "./cli-stores.ts";

let folder: string;
let store: string;
let file: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  store = `sqlite:${join(folder, "store.db")}`;
  file = join(folder, "state.jsonl");
});

const holdfast = (...args: string[]) => runOnStores(args);
const here = (...args: string[]) => holdfast(...args, "--store", store);

/** A few things of several kinds in two namespaces. */
async function fill(): Promise<void> {
  await here("set", "a", '{"list":[1,"\u{1F600}"]}');
  await here("set", "a", '"second"');
  await here("set", "gone", "1");
  await here("rm", "gone");
  await here("set", "short", "1", "--ttl", "60s", "--request-key", "once");
  await here("knowledge", "save", "limits", "Parcels may weigh thirty kilos");
  await here("set", "other", "1", "--namespace", "team-b");
}

async function withStore<T>(url: string, namespace: string, work: (store: Store) => Promise<T>): Promise<T> {
  await using engine = await openEngine(url);
  return await work(openNamespaceStore(engine, namespace, systemClock));
}

describe("an export", () => {
  test("is sorted lines of JSON with a header, and the same store gives the same bytes", async () => {
    await fill();
    expect(await here("export", file)).toMatchObject({ code: 0, stdout: expect.stringContaining("Exported 2 namespaces") });
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    const parsed = lines.map((line) => JSON.parse(line));
    expect(parsed[0]).toMatchObject({ holdfast: "export", format: 1, made_by: "holdfast 1.2.3", namespaces: ["default", "team-b"] });
    expect(parsed[2]).toMatchObject({ log: [1, 0], op: "put", key: "state/a", version: 1, value: { list: [1, "\u{1F600}"] } });
    expect(parsed.at(-1)).toEqual({
      end: { log: 7, keys: 2, requests: 1 },
      sha256: createHash("sha256")
        .update(`${lines.slice(0, -1).join("\n")}\n`)
        .digest("hex"),
    });
    const standard = await here("export");
    expect(standard.stdout).toBe(readFileSync(file, "utf8"));
    const packed = `${file}.gz`;
    await here("export", packed);
    expect(gunzipSync(readFileSync(packed)).toString()).toBe(standard.stdout);
    if (process.platform !== "win32") expect(statSync(file).mode & 0o077).toBe(0);
    expect(readdirSync(folder).filter((name) => name.includes("partial"))).toEqual([]);
  });

  test("of one namespace has only that, and one that is not there is named", async () => {
    await fill();
    expect(JSON.parse((await here("export", "--namespace", "team-b")).stdout.split("\n")[0] as string)).toMatchObject({ namespaces: ["team-b"] });
    expect(await here("export", "--namespace", "team-c")).toMatchObject({ code: 3, stderr: expect.stringContaining('no namespace "team-c"') });
  });

  test("is of one revision, although others write all the time", async () => {
    await fill();
    await using engine = await openEngine(store);
    const live = openNamespaceStore(engine, "default", systemClock);
    let stopped = false;
    let written = 0;
    const writing = (async () => {
      while (!stopped) {
        written += 1;
        await live.commit({ writer: "w", writes: [put("left", written), put("right", written)], request: { key: `r${written}`, fingerprint: "f", note: null } });
      }
    })();
    while (written < 5) await systemClock.sleep(1);
    await here("export", file);
    stopped = true;
    await writing;
    const copy = `sqlite:${join(folder, "copy.db")}`;
    expect(await holdfast("import", file, "--store", copy, "--yes")).toMatchObject({ code: 0 });
    await withStore(copy, "default", async (copied) => {
      const { entries, revision } = await copied.read(everything);
      const [left, right] = ["left", "right"].map((key) => entries.find((entry) => entry.key === key));
      expect(left?.value).toBe(right?.value);
      expect(left?.revision).toBe(revision);
      // Every request key in it is of a commit in it, and every commit has its own.
      expect(await copied.readRequest(`r${left?.value}`)).toBeDefined();
      expect(await copied.readRequest(`r${Number(left?.value) + 1}`)).toBeUndefined();
    });
    expect((await engine.dump("default", { part: "keys" })).facts.seal).toBeUndefined();
  });

  test("of a store that may only be looked at writes nothing to it", async () => {
    await fill();
    const before = statSync(join(folder, "store.db")).mtimeMs;
    expect(await here("export", file, "--read-only")).toMatchObject({ code: 0 });
    expect(statSync(join(folder, "store.db")).mtimeMs).toBe(before);
    expect(await holdfast("export", file, "--store", `sqlite:${join(folder, "none.db")}`)).toMatchObject({ code: 3 });
    expect(readdirSync(folder)).not.toContain("none.db");
  });

  test("replaces a file only when it is complete, and refuses what is no file", async () => {
    await fill();
    writeFileSync(file, "precious");
    mkdirSync(join(folder, "directory"));
    expect(await here("export", join(folder, "directory"))).toMatchObject({ code: 2, stderr: expect.stringContaining("is a folder") });
    expect(await here("export", join(folder, "no", "such", "file"))).toMatchObject({ code: 3, stderr: expect.stringContaining("folder does not exist") });
    const lines = (async function* () {
      yield "one\n";
      throw new Error("in the middle");
    })();
    await expect(writeFile(file, lines, { replaces: true })).rejects.toThrow("in the middle");
    expect(readFileSync(file, "utf8")).toBe("precious");
    expect(readdirSync(folder).filter((name) => name.includes("partial"))).toEqual([]);
  });

  test("that fills the disk is removed, and says so", async (context) => {
    const small = await temporaryFolder();
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", small], { stdio: "ignore" });
    } catch {
      return context.skip("mounting a small disk needs root");
    }
    onTestFinished(() => void execFileSync("umount", ["-l", small]));
    await here("set", "long", JSON.stringify("x".repeat(300_000)));
    expect(await here("export", join(small, "a.jsonl"))).toMatchObject({ code: 6, stderr: expect.stringContaining("The disk is full") });
    expect(readdirSync(small)).toEqual([]);
  });

  test("leaves out what was moved away or is being filled, and refuses it by name", async () => {
    await fill();
    {
      await using engine = await openEngine(store);
      await engine.seal("team-b", { state: "moved", to: "redis://there" });
    }
    const all = await here("export", file);
    expect(all).toMatchObject({ code: 0, stderr: expect.stringContaining("left out: team-b was moved to redis://there") });
    expect(await here("export", file, "--namespace", "team-b")).toMatchObject({ code: 6 });
  });
});

const put = (key: string, value: number) => ({ op: "put" as const, key, value });

describe("a backup", () => {
  test("is a new file, read back, and never replaces one", async () => {
    await fill();
    const backup = join(folder, "monday.jsonl.gz");
    expect(JSON.parse((await here("backup", backup, "--json")).stdout)).toEqual({ file: backup, namespaces: ["default", "team-b"], records: 10 });
    expect(await here("backup", backup)).toMatchObject({ code: 2, stderr: expect.stringContaining("already exists") });
    expect(await here("backup", "-")).toMatchObject({ code: 2 });
  });
});

describe("an import", () => {
  test("gives what was exported: any history, on any engine, letter by letter", async () => {
    const clock = manualClock();
    const startMs = clock.nowMs();
    const path = join(folder, "any.jsonl");
    let run = 0;
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        run += 1;
        clock.set(startMs);
        const namespace = `run ${run}`;
        const source = new MemoryEngine(clock);
        for (const step of steps) await answer(source, clock, namespace, step);
        const side = { engine: source, namespace };
        await writeFile(path, exportLines([side], "test"), { replaces: true });
        const engine = new MemoryEngine(clock);
        const options = { engine, clock, path, into: new Map([[namespace, "there"]]), leaps: false };
        await loadExport(options, await planLoad(options));
        expect(await wholeDump(engine, "there")).toEqual(await wholeDump(source, namespace));
      }),
      { numRuns: 40, seed: propertySeed },
    );
  });

  test("brings both namespaces, or one under another name; and continues exactly where they stood", async () => {
    await fill();
    await here("export", file);
    const copy = `sqlite:${join(folder, "copy.db")}`;
    const dry = await holdfast("import", file, "--store", copy, "--dry-run");
    expect(dry).toMatchObject({ code: 0, stdout: expect.stringContaining("this was a dry run") });
    expect(await holdfast("import", file, "--store", copy)).toMatchObject({ code: 2, stderr: expect.stringContaining("--yes") });
    const done = await holdfast("import", file, "--store", copy, "--yes");
    expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('Imported "default": 9 records up to revision 6') });
    expect((await holdfast("export", "--store", copy)).stdout).toBe((await here("export")).stdout);
    expect(JSON.parse((await holdfast("set", "a", "3", "--store", copy, "--json")).stdout)).toMatchObject({ version: 3, revision: 7 });
    expect((await holdfast("knowledge", "recall", "kilos", "--store", copy)).stdout).toContain("thirty kilos");
    const renamed = await holdfast("import", file, "--store", copy, "--yes", "--namespace", "team-b", "--to-namespace", "team-c");
    expect(renamed.stdout).toContain('Imported "team-c"');
    expect(await holdfast("import", file, "--store", copy, "--yes", "--to-namespace", "x")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--to-namespace: names one"),
    });
    expect(await holdfast("import", file, "--store", copy, "--yes", "--namespace", "x")).toMatchObject({ code: 3 });
  });

  test("into a namespace that has data is refused, and no other of the file is touched", async () => {
    await fill();
    await here("export", file);
    const copy = `sqlite:${join(folder, "copy.db")}`;
    await holdfast("set", "mine", "1", "--store", copy, "--namespace", "team-b");
    expect(await holdfast("import", file, "--store", copy, "--yes")).toMatchObject({ code: 2, stderr: expect.stringContaining('"team-b" has data already') });
    await using engine = await openEngine(copy);
    expect(await engine.namespaces()).toEqual(["team-b"]);
  });

  test("that dies half-way leaves nothing that could be taken for a store; the same again ends it, or --undo empties it", async () => {
    await fill();
    await here("export", file);
    const copy = `sqlite:${join(folder, "copy.db")}`;
    const sha256 = JSON.parse(readFileSync(file, "utf8").trimEnd().split("\n").at(-1) as string).sha256 as string;
    const half = async (): Promise<void> => {
      await using engine = await openEngine(copy);
      await engine.seal("team-b", { state: "filling", progress: { by: `loading of the file with checksum ${sha256.slice(0, 16)}` } });
      const row = { kind: "log", revision: 1, seq: 0, key: "left over", op: "put", version: 1, json: "1", createdAtMs: 1, atMs: 1, writer: "w" } as const;
      await engine.load("team-b", [row]);
    };
    await half();
    expect(await holdfast("get", "other", "--store", copy, "--namespace", "team-b")).toMatchObject({ code: 6, stderr: expect.stringContaining("still being filled") });
    expect(await holdfast("import", file, "--store", copy, "--undo")).toMatchObject({ code: 0, stdout: "team-b: empty again\n" });
    await half();
    expect(await holdfast("import", file, "--store", copy, "--yes")).toMatchObject({ code: 0 });
    expect((await holdfast("export", "--store", copy)).stdout).toBe((await here("export")).stdout);
  });

  test("whose engine does not keep what it is given is taken back", async () => {
    await fill();
    await here("export", file, "--namespace", "team-b");
    const clock = manualClock();
    const engine = new MemoryEngine(clock);
    const load = engine.load.bind(engine);
    engine.load = (namespace, records, facts) =>
      load(
        namespace,
        records.map((record) => (record.kind === "log" ? { ...record, writer: "x" } : record)),
        facts,
      );
    const options = { engine, clock, path: file, into: new Map([["team-b", "team-b"]]), leaps: false };
    const plan = await planLoad(options);
    await expect(loadExport(options, plan)).rejects.toMatchObject({ code: "store_damaged" });
    expect(await engine.namespaces()).toEqual([]);
  });
});

describe("a file that is not whole is refused with nothing changed:", () => {
  let copy: string;
  beforeEach(async () => {
    copy = `sqlite:${join(folder, "copy.db")}`;
    await fill();
    await here("export", file);
  });
  const refusal = async (bytes: string | Uint8Array): Promise<{ code: number; stderr: string }> => {
    const bad = join(folder, "bad.jsonl");
    writeFileSync(bad, bytes);
    const { code, stderr } = await holdfast("restore", bad, "--store", copy, "--yes");
    await using engine = await openEngine(copy);
    expect(await engine.namespaces()).toEqual([]);
    return { code, stderr };
  };
  /** With a checksum that fits again: only the line itself can give it away. */
  const signed = (lines: readonly string[]): string => {
    const body = `${lines.join("\n")}\n`;
    const counts = { log: 0, keys: 0, requests: 0 };
    for (const line of lines) {
      if (line.startsWith('{"log"')) counts.log += 1;
      else if (line.startsWith('{"key"')) counts.keys += 1;
      else if (line.startsWith('{"request"')) counts.requests += 1;
    }
    return `${body}${JSON.stringify({ end: counts, sha256: createHash("sha256").update(body).digest("hex") })}\n`;
  };
  const lines = (): string[] => readFileSync(file, "utf8").trimEnd().split("\n").slice(0, -1);

  test("cut off anywhere", async () => {
    const whole = readFileSync(file);
    for (const part of [0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999]) expect([part, (await refusal(whole.subarray(0, Math.floor(whole.length * part)))).code]).toEqual([part, 2]);
    expect((await refusal(`${lines().join("\n")}\n`)).stderr).toContain("its last line is missing");
    const packed = gzipSync(whole);
    expect((await refusal(packed.subarray(0, packed.length - 20))).stderr).toContain("cannot be decompressed to its end");
  });

  test("changed anywhere", async () => {
    const whole = readFileSync(file);
    for (let i = 1; i <= 12; i += 1) {
      const changed = Buffer.from(whole);
      const at = Math.floor((whole.length * i) / 13);
      changed[at] = (changed[at] as number) ^ 1;
      expect([at, (await refusal(changed)).code]).toEqual([at, 2]);
    }
  });

  test("hostile lines, each by its number", async () => {
    const log = lines().findIndex((line) => line.startsWith('{"log"'));
    const change = (edit: (line: string) => string, at = log): string => signed(lines().map((line, i) => (i === at ? edit(line) : line)));
    const deep = `${"[".repeat(5_000)}${"]".repeat(5_000)}`;
    const cases: [string, string, RegExp][] = [
      ["no JSON", change(() => "{"), /line 3 is not JSON/],
      ["no object", change(() => "[]"), /line 3 is refused: it: must be an object/],
      ["of no kind", change(() => '{"x":1}'), /its kind is unknown/],
      ["__proto__ beside it", change((line) => line.replace("{", '{"__proto__":{"op":"put"},')), /not in the form that an export writes/],
      ["a member twice", change((line) => line.replace('"op":"put"', '"op":"put","op":"put"')), /not in the form that an export writes/],
      ["a member too many", change((line) => line.replace('"op":"put"', '"op":"put","extra":1')), /not in the form that an export writes/],
      ["blanks", change((line) => line.replace(",", ", ")), /not in the form that an export writes/],
      ["a row twice", signed(lines().flatMap((line, i) => (i === log ? [line, line] : [line]))), /out of order or repeated/],
      [
        "rows out of order",
        signed(
          lines()
            .with(log, lines()[log + 1] as string)
            .with(log + 1, lines()[log] as string),
        ),
        /out of order/,
      ],
      ["a key with NUL", change((line) => line.replace('"state/a"', '"a\\u0000b"')), /NUL/],
      ["a key that is too long", change((line) => line.replace('"state/a"', JSON.stringify("k".repeat(2_000)))), /768 bytes/],
      ["a lone surrogate in a key", change((line) => line.replace('"state/a"', '"\\ud800"')), /well-formed/],
      ["a value too deep", change((line) => line.replace(/"value":.*\}$/, `"value":${deep}}`)), /nested 64 deep/],
      ["a number that loses digits", change((line) => line.replace(/"value":.*\}$/, '"value":12345678901234567890}')), /lose digits|not in the form that an export writes/],
      ["a put without a value", change((line) => line.replace(/,"value":.*\}$/, "}")), /value: required for put/],
      ["a version of 0", change((line) => line.replace('"version":1', '"version":0')), /version: must be a whole number, 1 or more/],
      ["a version that is text", change((line) => line.replace('"version":1', '"version":"1"')), /version: must be a whole number/],
      ["a revision beyond the end", change((line) => line.replace('"log":[1,0]', '"log":[99,0]')), /has not reached|out of order/],
      ["a row beyond what a revision has", change((line) => line.replace('"log":[1,0]', '"log":[1,999]')), /at most 256 rows/],
      ["an impossible namespace", change((line) => line.replace('"default"', '"../x"'), 1), /namespace: must begin/],
      ["a namespace that contradicts itself", change((line) => line.replace('"compacted":0', '"compacted":999'), 1), /its numbers are inconsistent/],
      ["a version above its revision", change((line) => line.replace('"version":1', '"version":7')), /version: must not be above the revision/],
      ["a version floor that leaves no version", change((line) => line.replace('"version_floor":0', '"version_floor":9007199254740991'), 1), /its numbers are inconsistent/],
      [
        "a clock in the far future",
        change((line) => line.replace(/"clock_ms":\d+/, '"clock_ms":8640000000000000'), 1),
        /clock of the namespace "default" is ahead of this machine/,
      ],
      ["a change in the far future", change((line) => line.replace(/"at_ms":\d+/, '"at_ms":8640000000000000')), /later than its namespace's clock/],
      ["a namespace that has not got there", change((line) => line.replace('"revision":6', '"revision":7'), 1), /has not reached its revision/],
      ["a namespace nobody named", change((line) => line.replace('"default"', '"other"'), 1), /not the next one listed in the first line/],
      ["no namespace before the first row", signed(lines().toSpliced(1, 1)), /out of place/],
      ["something after the end", `${readFileSync(file, "utf8")}{}\n`, /comes after the end/],
    ];
    for (const [name, text, words] of cases) {
      const { code, stderr } = await refusal(text);
      expect({ name, code, stderr }).toEqual({ name, code: 2, stderr: expect.stringMatching(words) });
      expect(stderr).not.toContain("\u001b");
    }
    expect((await refusal(`${lines()[0]}\n${"x".repeat(17 * 1_048_576)}`)).stderr).toContain("longer than any line");
    expect((await refusal(Buffer.concat([Buffer.from(`${lines()[0]}\n`), Buffer.from([0xff, 0xfe, 10])]))).stderr).toContain("line 2 is not UTF-8");
  });

  test("what no export wrote, a newer format, a folder, nothing at all", async () => {
    expect((await refusal("hello\n")).stderr).toContain("is not an export or backup of Holdfast");
    expect(await refusal(lines().join("\n").replace('"format":1', '"format":2'))).toMatchObject({
      code: 7,
      stderr: expect.stringContaining("has format 2; this Holdfast reads formats up to 1"),
    });
    expect(await holdfast("restore", folder, "--store", copy, "--yes")).toMatchObject({ code: 2, stderr: expect.stringContaining("is a folder") });
    expect(await holdfast("restore", join(folder, "none"), "--store", copy, "--yes")).toMatchObject({ code: 3, stderr: expect.stringContaining("there is no file") });
    expect(await holdfast("import", join(folder, "none"), "--store", copy, "--yes")).toMatchObject({ code: 3 });
    expect(await holdfast("restore", "--store", copy)).toMatchObject({ code: 2, stderr: expect.stringContaining("<file>: is missing") });
    expect(await holdfast("restore", file, "--store", copy, "--read-only", "--yes")).toMatchObject({
      code: expect.any(Number),
      stderr: expect.stringMatching(/read-only|no store/),
    });
    if (process.getuid?.() !== 0) {
      chmodSync(file, 0o000);
      expect(await holdfast("restore", file, "--store", copy, "--yes")).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot be read (EACCES)") });
    }
  });
});
