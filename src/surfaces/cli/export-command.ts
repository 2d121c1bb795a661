import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { isReservedNamespace } from "../../store/namespace-store.ts";
import type { Engine } from "../../store/store.ts";
import type { Side } from "../../transfer/stores/compare-namespaces.ts";
import type { CliHost, CliRuntime, Command, Invocation, Output } from "./command.ts";
import { exitCodes } from "./command.ts";
import { chosenNamespaces, clearLine, interruptible, namedNamespaces, namespacesMeaning, rateLine, shownNamespace, storeFlags } from "./store-flags.ts";
import { safeText } from "./terminal-text.ts";

const format =
  "The file contains sorted lines of JSON: for each namespace its state, its log by revision, its keys by name and its request keys, then a checksum. " +
  "Each namespace is written as of one revision, even if others write at the same time. An unchanged store produces the same bytes. If the name ends in .gz, the file is compressed. Only its owner can read the file.";

export const exportCommand: Command = {
  path: ["export"],
  summary: "Write everything in the store as sorted lines of JSON",
  details: `${namespacesMeaning("exported")}\n\n${format} An existing file of that name is replaced once the new one is complete.`,
  operands: "[file]",
  operandMeanings: [{ name: "file", meaning: "The file to write. Default: standard output, as with -." }],
  flags: [],
  examples: ["holdfast export state.jsonl", "holdfast export - --namespace team-a | gzip > team-a.jsonl.gz"],
  run: (invocation) => runExport(invocation, fileOf(invocation) ?? "-", { replaces: true, done: "Exported" }),
};

export const backupCommand: Command = {
  path: ["backup"],
  summary: "Back up the store to a new file, and read the file back to check it",
  details: `${namespacesMeaning("backed up")}\n\n${format} An existing file is never replaced. To restore the backup, use holdfast restore.`,
  operands: "[file]",
  operandMeanings: [{ name: "file", meaning: "The new file. Default: holdfast-backup-TIME.jsonl.gz in the current folder." }],
  flags: [],
  examples: ["holdfast backup", "holdfast backup /backups/monday.jsonl.gz --json"],
  run: runBackup,
};

function fileOf({ words }: Invocation): string | undefined {
  const [file, ...others] = words;
  if (others.length > 0 || file === "") throw invalidInput("<file>", "must be the name of one file");
  return file;
}

function runBackup(invocation: Invocation): Promise<number> {
  const file = fileOf(invocation) ?? `holdfast-backup-${new Date().toISOString().replace(/[-:]/g, "").replace(/\..*/, "Z")}.jsonl.gz`;
  if (file === "-") throw invalidInput("<file>", "must be a file, because it is read back; to write to standard output, use holdfast export");
  return runExport(invocation, file, { replaces: false, done: "Backed up", readsBack: true });
}

interface ExportFlavour {
  readonly replaces: boolean;
  readonly done: string;
  readonly readsBack?: boolean;
}

async function runExport({ host, flags, json }: Invocation, file: string, flavour: ExportFlavour): Promise<number> {
  await using runtime = await host.open(storeFlags(flags), { onlyLooks: true });
  await using scratch = await host.openScratch();
  return await interruptible(host, "stopped; no file was written.", async (signal) => {
    const sides = await takeSnapshots(host, runtime, scratch.engine, namedNamespaces(flags), signal);
    const { exportLines } = await import("../../transfer/files/export-lines.ts");
    const { writeFile } = await import("../../transfer/files/write-file.ts");
    const show = rateLine(host);
    let records = 0;
    const lines = exportLines(sides, `holdfast ${host.version}`, () => {
      records += 1;
      show("writing", records);
    });
    if (file === "-") await writeOut(host.stdout, lines, signal);
    else await writeFile(file, lines, { replaces: flavour.replaces, signal });
    clearLine(host);
    if (flavour.readsBack === true) await readBack(file);
    if (file === "-") return exitCodes.ok;
    const namespaces = sides.map(({ namespace }) => namespace);
    host.stdout.write(json ? `${JSON.stringify({ file, namespaces, records })}\n` : `${flavour.done} ${countOf(namespaces)}, ${records} records, to ${safeText(file)}.\n`);
    return exitCodes.ok;
  });
}

function countOf(namespaces: readonly string[]): string {
  const named = namespaces.filter((name) => !isReservedNamespace(name)).length;
  return `${named} namespace${named === 1 ? "" : "s"}${named === namespaces.length ? "" : " and the access tokens"}`;
}

/** Copies namespaces, each as of one revision, into a store without writers. */
async function takeSnapshots(
  host: CliHost,
  { base, config, engine: whole }: CliRuntime,
  scratch: Engine,
  named: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<readonly Side[]> {
  const [{ snapshotNamespace }, { readFacts }, { retryingEngine }] = await Promise.all([
    import("../../transfer/stores/copy-namespace.ts"),
    import("../../transfer/stores/change-seal.ts"),
    import("../../transfer/stores/retrying-engine.ts"),
  ]);
  const engine = retryingEngine(whole, base.clock, signal);
  const show = rateLine(host);
  const sides: Side[] = [];
  for (const namespace of await chosenNamespaces(engine, named)) {
    const source = { engine, namespace };
    const { seal } = await readFacts(source);
    if (seal?.state === "moved" || seal?.state === "filling") {
      const why = seal.state === "moved" ? `was moved to ${seal.to}` : "is still being filled";
      if (named !== undefined) throw new HoldfastError(seal.state === "moved" ? "moved" : "unavailable", `The namespace ${JSON.stringify(namespace)} ${why}; no file was written.`);
      host.stderr.write(`holdfast: left out: ${shownNamespace(namespace)} ${safeText(why)}\n`);
      continue;
    }
    const destination = { engine: scratch, namespace };
    await snapshotNamespace({
      source,
      destination,
      by: "export",
      clock: base.clock,
      signal,
      onlyLooks: config.readOnly,
      onProgress: ({ stage, records, lag }) => show(`${namespace}: ${stage === "copying" ? "reading" : stage}`, records, lag === undefined ? "" : `, ${lag} revisions behind`),
    });
    sides.push(destination);
  }
  clearLine(host);
  return sides;
}

/** Waits while the pipe is full, so that output does not pile up in memory. */
async function writeOut(stdout: Output, lines: AsyncIterable<string>, signal: AbortSignal): Promise<void> {
  const { chunksOf } = await import("../../transfer/files/write-file.ts");
  for await (const chunk of chunksOf(lines)) {
    signal.throwIfAborted();
    const took = stdout.write(chunk);
    if (took === false && "once" in stdout) await new Promise((resolve) => (stdout as unknown as NodeJS.WriteStream).once("drain", resolve));
  }
}

async function readBack(file: string): Promise<void> {
  const { readExport } = await import("../../transfer/files/read-export.ts");
  try {
    for await (const _ of readExport(file));
  } catch (error) {
    throw new HoldfastError("store_damaged", `The backup was written but cannot be read back: ${(error as Error).message}`, {
      hint: "Check the disk and back up again.",
      cause: error,
    });
  }
}
