import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { everything } from "../../store/ranges.ts";
import type { NamespaceFacts, Range, Revision, Snapshot, Store } from "../../store/store.ts";
import type { Until } from "../../transfer/files/load-export.ts";
import type { CliHost, CliRuntime, Command, Invocation } from "./command.ts";
import { exitCodes } from "./command.ts";
import { confirmed } from "./confirmed.ts";
import { loadFile } from "./load-file.ts";
import { clearLine, interruptible, rateLine } from "./store-flags.ts";
import { safeText } from "./terminal-text.ts";

export const restoreCommand: Command = {
  path: ["restore"],
  summary: "Restore a backup or an earlier state of a namespace; versions and tokens never repeat",
  details:
    "Restores a file into namespaces that must be empty, with the history up to the backup. Agents may have continued to work after the backup was made, so revisions, versions and fencing tokens resume far above any number that was handed out. Access tokens are restored as they were at that time, and only into a store that never had any; revoke those again that have been revoked since. With --at, the restored state is that of a revision or a time, without access tokens.\n\nWith --in-place, a namespace in use is changed back by new commits, either from its own history (--at without a file) or from a file. Nothing in its history is lost. Writes that others make at the same time may remain. Leases, entries that would have expired by now, and request keys are not restored in place: leases keep their holders, and a request that was answered stays answered.",
  operands: "[file]",
  operandMeanings: [{ name: "file", meaning: "A file that holdfast backup or holdfast export wrote. Optional with --in-place --at." }],
  flags: [
    { name: "at", takes: "WHEN", meaning: "Restore the state as of a revision, or of a time such as 2026-11-15T10:00:00Z." },
    { name: "to-namespace", takes: "NAME", meaning: "Restore a file with a single namespace under this name." },
    { name: "in-place", meaning: "Restore into the namespace that is in use (--namespace)." },
    { name: "dry-run", meaning: "Read and check the file, and change nothing." },
    { name: "undo", meaning: "Remove what an interrupted restore of this file left behind." },
    { name: "yes", meaning: "Skip the confirmation. Required when standard input is not a terminal." },
  ],
  examples: [
    "holdfast restore monday.jsonl.gz --store sqlite:./fresh.db --yes",
    "holdfast restore monday.jsonl.gz --at 2026-11-15T10:00:00Z --namespace default --to-namespace as-of-ten",
    "holdfast restore --in-place --at 4711",
  ],
  run: runRestore,
};

async function runRestore(invocation: Invocation): Promise<number> {
  const { flags, words } = invocation;
  const [file, ...others] = words;
  if (others.length > 0) throw invalidInput("<file>", "must be the name of one file");
  const until = flags.at === undefined ? undefined : readUntil(flags.at as string);
  if (flags["in-place"] === true) return runInPlace(invocation, file, until);
  if (file === undefined) throw invalidInput("<file>", "is missing; pass a file that holdfast backup wrote, or --in-place --at to restore an earlier state of a namespace in use");
  return loadFile(invocation, file, { verb: "restore", done: "Restored", leaps: true, until });
}

const timeForm = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:?\d\d)?)?$/;

function readUntil(text: string): Until {
  if (/^\d{1,15}$/.test(text)) return { revision: Number(text) };
  const atMs = timeForm.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(atMs)) throw invalidInput("--at", "must be a revision, or a time such as 2026-11-15T10:00:00Z");
  return { atMs };
}

async function runInPlace({ host, flags, json }: Invocation, file: string | undefined, until: Until | undefined): Promise<number> {
  for (const flag of ["to-namespace", "undo", "dry-run"]) if (flags[flag] !== undefined) throw invalidInput(`--${flag}`, "does not go with --in-place");
  if (file === undefined && until === undefined) throw invalidInput("--at", "is missing; pass the revision or time to go back to");
  await using runtime = await host.open(flags);
  if (runtime.config.readOnly) throw new HoldfastError("read_only", "restore changes the store, and this command was started read-only.");
  await using scratch = await host.openScratch();
  return await interruptible(host, "stopped; the changes made so far remain. Run the same command to continue.", async (signal) => {
    const { base, config, engine } = runtime;
    const [{ restoreInPlace }, { readFacts }, { Hold }] = await Promise.all([
      import("../../transfer/files/restore-in-place.ts"),
      import("../../transfer/stores/change-seal.ts"),
      import("../../transfer/stores/hold.ts"),
    ]);
    const side = { engine, namespace: config.namespace };
    const at = file === undefined ? await revisionOf(base.store, until as Until, await readFacts(side)) : undefined;
    const past = file === undefined ? pastOf(base.store, at as Revision) : await pastFrom(runtime, scratch.engine, file, until, signal);
    // Fails now if the past state is not available.
    await past(everything, 1);
    const what = file === undefined ? `as of revision ${at}` : `as ${safeText(file)} has it`;
    const question = `Change the namespace ${safeText(JSON.stringify(config.namespace))} back to its state ${what}?`;
    if (!(await confirmed(host, { question, otherwise: "nothing was changed", yes: flags.yes === true, json }))) {
      host.stdout.write("Nothing was changed.\n");
      return exitCodes.negative;
    }
    const hold = new Hold(side, base.clock);
    await hold.renew();
    try {
      const show = rateLine(host);
      const done = await restoreInPlace({ ...base, agent: config.agent }, past, async (entries) => {
        signal.throwIfAborted();
        await hold.renew();
        show("restoring", entries);
      });
      clearLine(host);
      report(host, json, { namespace: config.namespace, at, ...done });
      return exitCodes.ok;
    } finally {
      await hold.release();
    }
  });
}

function report(
  host: CliHost,
  json: boolean,
  { namespace, at, written, removed, same, revision }: { namespace: string; at?: Revision; written: number; removed: number; same: number; revision: Revision },
): void {
  if (json) host.stdout.write(`${JSON.stringify({ namespace, restored_to: at ?? null, written, removed, same, revision })}\n`);
  else host.stdout.write(`Restored ${safeText(JSON.stringify(namespace))}: ${written} entries written, ${removed} removed, ${same} were the same; now at revision ${revision}.\n`);
}

const pastOf =
  (store: Store, at: Revision) =>
  (range: Range, limit: number): Promise<Snapshot> =>
    store.read(range, { at, limit });

/** The file's namespace, loaded into a temporary store. */
async function pastFrom({ base, config }: CliRuntime, engine: CliRuntime["engine"], path: string, until: Until | undefined, signal: AbortSignal) {
  const { loadExport, planLoad } = await import("../../transfer/files/load-export.ts");
  const { openNamespaceStore } = await import("../../store/namespace-store.ts");
  const options = { engine, clock: base.clock, path, into: new Map([[config.namespace, config.namespace]]), until, leaps: false, signal };
  await loadExport(options, await planLoad(options));
  const store = openNamespaceStore(engine, config.namespace, base.clock);
  return (range: Range, limit: number): Promise<Snapshot> => store.read(range, { limit });
}

/** The newest revision up to a time. */
async function revisionOf(store: Store, until: Until, { compacted, compactedAtMs }: NamespaceFacts): Promise<Revision> {
  if ("revision" in until) return until.revision;
  if (until.atMs < compactedAtMs)
    throw new HoldfastError("compacted", `--at: history is kept from ${new Date(compactedAtMs).toISOString()} on; nothing was changed.`, { details: { field: "--at" } });
  for (let before: Revision | undefined; ; ) {
    const page = await store.log({ ranges: [everything], reverse: true, values: false, lenient: true, before });
    const found = page.rows.find(({ atMs }) => atMs <= until.atMs);
    // Below the compacted revision only single rows are left, for keys that have not changed since.
    if (found !== undefined || page.done) return Math.max(compacted, found?.revision ?? 0);
    before = page.through;
  }
}
