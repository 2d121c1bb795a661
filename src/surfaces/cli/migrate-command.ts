import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { storeAddress } from "../../kernel/store-url.ts";
import { everything } from "../../store/ranges.ts";
import type { Engine, NamespaceFacts } from "../../store/store.ts";
import type { Moved } from "../../transfer/stores/move-namespace.ts";
import type { CliHost, CliRuntime, Command, Invocation } from "./command.ts";
import { exitCodes } from "./command.ts";
import { chosenNamespaces, clearLine, interruptible, namedNamespaces, namespacesMeaning, rateLine, requireOtherStore, shownNamespace, storeFlags } from "./store-flags.ts";
import { safeText, styleFor, table } from "./terminal-text.ts";

const steps =
  "Each namespace is copied with its whole history, versions, revisions, fencing tokens and request keys, while agents keep working. " +
  "Both stores are compared record by record. Then writers are paused for the last few changes (they get the error unavailable for a moment), and the old namespace is closed. " +
  "Clients that still use it get an error that names the new store. The namespaces must be empty in the destination.\n\n" +
  "If the command is interrupted, run it again to continue, or with --undo to undo it. Exits with 1 if the comparison found a difference; the source is then still open and unchanged.";

export const migrateCommand: Command = {
  path: ["migrate"],
  summary: "Move everything from one store to another, even while agents work, and compare both",
  details: `${namespacesMeaning("moved")}\n\n${steps}`,
  operands: "<from> <to>",
  operandMeanings: [
    { name: "from", meaning: "The URL of the existing store." },
    { name: "to", meaning: "The URL of the store to move to. A SQLite file is created." },
  ],
  flags: [
    { name: "copy", meaning: "Leave the source open. The two stores diverge from then on and hand out the same fencing tokens, so use only one of them for locking." },
    { name: "replace-moved", meaning: "Move back: if a namespace was moved away from the destination before, clear what is left of it first." },
    { name: "dry-run", meaning: "Show what would be moved and whether it can be, and change nothing." },
    { name: "undo", meaning: "Undo an unfinished migration: clear the destination and reopen the source." },
  ],
  examples: [
    "holdfast migrate sqlite:./state.db postgres://holdfast@db.internal/holdfast",
    "holdfast migrate redis://cache.internal:6379/0 sqlite:./copy.db --copy --namespace team-a",
    "holdfast migrate sqlite:./state.db postgres://holdfast@db.internal/holdfast --undo",
  ],
  run: runMigrate,
};

interface Ends {
  readonly from: CliRuntime;
  /** Absent in a dry run if the store does not exist yet. */
  readonly to: CliRuntime | undefined;
  readonly fromUrl: string;
  readonly toUrl: string;
}

async function runMigrate({ host, flags, words, json }: Invocation): Promise<number> {
  const [from, to, ...others] = words;
  if (from === undefined || to === undefined) throw invalidInput(from === undefined ? "<from>" : "<to>", "is missing; pass the URLs of both stores");
  if (others.length > 0) throw invalidInput("<to>", "must be the last argument");
  if (flags.undo === true && (flags.copy === true || flags["dry-run"] === true)) throw invalidInput("--undo", "cannot be combined with --copy or --dry-run");
  await using source = await host.open(storeFlags(flags, from), { onlyLooks: true });
  const dryRun = flags["dry-run"] === true;
  if (source.config.readOnly && !dryRun) throw new HoldfastError("read_only", "migrate changes both stores, and this command was started read-only.");
  requireOtherStore(source.config.store, to);
  await using target = await host.open(storeFlags(flags, to), { onlyLooks: dryRun }).catch((error: unknown) => {
    if (dryRun && error instanceof HoldfastError && error.code === "not_found") return undefined;
    throw error;
  });
  if (target !== undefined) requireOtherStore(source.config.store, target.config.store);
  const ends: Ends = { from: source, to: target, fromUrl: source.config.store, toUrl: target?.config.store ?? to };
  const namespaces = await chosenNamespaces(engineOf(source), namedNamespaces(flags));
  const report = { from: storeAddress(ends.fromUrl), to: storeAddress(ends.toUrl) };
  const replacesMoved = flags["replace-moved"] === true;
  if (dryRun) return await showPlan(host, ends, namespaces, report, json, replacesMoved);
  if (flags.undo === true) return await undo(host, ends, namespaces, report, json);
  return await interruptible(host, "stopped; the source is open. Run the same command to continue, or add --undo to undo it.", (signal) =>
    moveAll({ host, ends, namespaces, report, json, signal, staysOpen: flags.copy === true, replacesMoved }),
  );
}

const engineOf = (runtime: CliRuntime): Engine => runtime.engine;

/** The name by which unfinished work is found again. */
const jobName = (namespace: string, url: string): string => `migration of ${JSON.stringify(namespace)} from ${storeAddress(url)}`;

interface Job {
  readonly host: CliHost;
  readonly ends: Ends;
  readonly namespaces: readonly string[];
  readonly report: { readonly from: string; readonly to: string };
  readonly json: boolean;
  readonly signal: AbortSignal;
  readonly staysOpen: boolean;
  readonly replacesMoved: boolean;
}

async function moveAll({ host, ends, namespaces, report, json, signal, staysOpen, replacesMoved }: Job): Promise<number> {
  const [{ moveNamespace }, { retryingEngine }] = await Promise.all([import("../../transfer/stores/move-namespace.ts"), import("../../transfer/stores/retrying-engine.ts")]);
  const { clock } = ends.from.base;
  const show = rateLine(host);
  const done: { readonly namespace: string; readonly moved: Moved | "already moved" }[] = [];
  for (const namespace of namespaces) {
    const [source, destination] = [ends.from, ends.to as CliRuntime].map((end) => ({ engine: retryingEngine(engineOf(end), clock, signal), namespace })) as [Side, Side];
    if (await isMovedAlready(source, destination, report.to)) {
      done.push({ namespace, moved: "already moved" });
      continue;
    }
    const copied = staysOpen ? await readCopy(source, destination) : undefined;
    if (copied !== undefined) {
      done.push({ namespace, moved: copied });
      continue;
    }
    const moved = await moveNamespace({
      source,
      destination,
      by: jobName(namespace, ends.fromUrl),
      clock,
      signal,
      staysOpen,
      replacesMoved,
      destinationName: report.to,
      onProgress: ({ stage, records, lag }) => show(`${namespace}: ${stage}`, records, lag === undefined ? "" : `, ${lag} revisions behind`),
    });
    done.push({ namespace, moved });
    if (!moved.ok) break;
  }
  clearLine(host);
  const different = done.find(({ moved }) => moved !== "already moved" && !moved.ok);
  if (json)
    host.stdout.write(
      `${JSON.stringify({ ...report, ok: different === undefined, copied: staysOpen, namespaces: done.map(({ namespace, moved }) => ({ namespace, ...toJson(moved) })) })}\n`,
    );
  else host.stdout.write(render(done, report, staysOpen, styleFor(host.stdout, ends.from.config.colourAllowed, clock.nowMs())));
  return different === undefined ? exitCodes.ok : exitCodes.negative;
}

interface Side {
  readonly engine: Engine;
  readonly namespace: string;
}

const factsOf = async ({ engine, namespace }: Side): Promise<NamespaceFacts> => (await engine.dump(namespace, { part: "keys" })).facts;

/** The destination equals the source at that moment: an earlier run, stopped at a later namespace, copied it completely. */
async function readCopy(source: Side, destination: Side): Promise<Moved | undefined> {
  const facts = await factsOf(destination);
  if (facts.seal !== undefined || facts.revision === 0) return undefined;
  const { compareNamespaces } = await import("../../transfer/stores/compare-namespaces.ts");
  const compared = await compareNamespaces(source, destination, { facts });
  return compared.equal ? { ok: true, facts, records: compared.records, sha256: compared.sha256, pausedMs: 0 } : undefined;
}

/** Moved to this very store, and complete there: an earlier run got that far. */
async function isMovedAlready(source: Side, destination: Side, to: string): Promise<boolean> {
  const { seal } = await factsOf(source);
  if (seal?.state !== "moved" || seal.to !== to) return false;
  const there = await factsOf(destination);
  return there.seal?.state !== "filling" && there.revision > 0;
}

const toJson = (moved: Moved | "already moved") => {
  if (moved === "already moved") return { moved_already: true };
  if (!moved.ok) return { equal: false, difference: moved.difference };
  return { equal: true, revision: moved.facts.revision, records: moved.records, sha256: moved.sha256, writers_paused_ms: moved.pausedMs };
};

function render(
  done: readonly { namespace: string; moved: Moved | "already moved" }[],
  { from, to }: Job["report"],
  staysOpen: boolean,
  style: ReturnType<typeof styleFor>,
): string {
  if (done.length === 0) return "There is nothing to migrate: the source has no namespace.\n";
  const rows = done.map(({ namespace, moved }) => {
    if (moved === "already moved") return [shownNamespace(namespace), "", "", "moved by an earlier run"];
    return moved.ok ? [shownNamespace(namespace), String(moved.facts.revision), String(moved.records), "equal"] : [shownNamespace(namespace), "", "", "DIFFERENT"];
  });
  const failed = done.flatMap(({ namespace, moved }) => (moved !== "already moved" && !moved.ok ? [{ namespace, difference: moved.difference }] : []))[0];
  const isDone = done.every(({ moved }) => moved === "already moved");
  const last = isDone
    ? `Nothing was moved: an earlier run moved everything to ${to}. Use that store: --store or HOLDFAST_STORE.\n`
    : failed === undefined
      ? `${staysOpen ? "Copied" : "Moved"} from ${from} to ${to}; compared record by record.${staysOpen ? "" : ` Use the new store from now on: --store or HOLDFAST_STORE.`}\n`
      : `The copy of ${safeText(JSON.stringify(failed.namespace))} is not equal: ${safeText(failed.difference)}. The source is open and unchanged. Run the same command to copy that namespace again, or undo with --undo.\n`;
  return `${table(["namespace", "revision", "records", "compared"], rows, style)}\n${last}`;
}

async function showPlan(host: CliHost, { from, to, fromUrl }: Ends, namespaces: readonly string[], report: Job["report"], json: boolean, replacesMoved: boolean): Promise<number> {
  const { requireUnused, progressIn } = await import("../../transfer/stores/filling.ts");
  const plan: { namespace: string; revision: number; entries: number | null; says: string; ready: boolean }[] = [];
  for (const namespace of namespaces) {
    const source = { engine: engineOf(from), namespace };
    const facts = await factsOf(source);
    const there = to === undefined ? undefined : await factsOf({ engine: engineOf(to), namespace });
    const isOpen = facts.seal === undefined || facts.seal.state === "copying" || facts.seal.state === "moving";
    const entries = isOpen ? await source.engine.count(namespace, everything) : null;
    plan.push({ namespace, revision: facts.revision, entries, ...readiness() });

    function readiness(): { says: string; ready: boolean } {
      if (facts.seal?.state === "moved") return { says: `moved already, to ${facts.seal.to}`, ready: false };
      if (facts.seal?.state === "filling") return { says: "still being filled itself", ready: false };
      if (facts.seal?.state === "moving" && facts.seal.to !== report.to) return { says: `being moved to ${facts.seal.to}`, ready: false };
      if (there === undefined) return { says: "ready", ready: true };
      if (there.seal?.state === "moved" && replacesMoved) return { says: "ready; what is left there is cleared", ready: true };
      const progress = progressIn(there);
      if (progress?.by === jobName(namespace, fromUrl)) return { says: "continues where it was interrupted", ready: true };
      try {
        requireUnused(namespace, there);
        return { says: "ready", ready: true };
      } catch (error) {
        return { says: (error as Error).message, ready: false };
      }
    }
  }
  if (json) host.stdout.write(`${JSON.stringify({ ...report, dry_run: true, namespaces: plan })}\n`);
  else {
    const rows = plan.map(({ namespace, revision, entries, says }) => [shownNamespace(namespace), String(revision), entries === null ? "" : String(entries), safeText(says)]);
    host.stdout.write(
      `${table(["namespace", "revision", "entries", "state"], rows, styleFor(host.stdout, from.config.colourAllowed, 0))}\nNothing was changed: this was a dry run.\n`,
    );
  }
  return plan.every(({ ready }) => ready) ? exitCodes.ok : exitCodes.negative;
}

async function undo(host: CliHost, ends: Ends, namespaces: readonly string[], report: Job["report"], json: boolean): Promise<number> {
  const { undoMove } = await import("../../transfer/stores/move-namespace.ts");
  const done: { namespace: string; outcome: string }[] = [];
  for (const namespace of namespaces) {
    const [source, destination] = [ends.from, ends.to as CliRuntime].map((end) => ({ engine: engineOf(end), namespace })) as [Side, Side];
    done.push({ namespace, outcome: await undoMove({ source, destination, by: jobName(namespace, ends.fromUrl), destinationName: report.to, clock: ends.from.base.clock }) });
  }
  if (json) host.stdout.write(`${JSON.stringify({ ...report, undone: done })}\n`);
  else host.stdout.write(done.map(({ namespace, outcome }) => `${shownNamespace(namespace)}: ${outcome}\n`).join("") || "There is nothing to undo.\n");
  return exitCodes.ok;
}
