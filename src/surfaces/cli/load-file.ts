import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { isReservedNamespace, requireNamespace } from "../../store/namespace-store.ts";
import type { Engine } from "../../store/store.ts";
import type { Loaded, LoadOptions, Until } from "../../transfer/files/load-export.ts";
import type { Invocation } from "./command.ts";
import { exitCodes } from "./command.ts";
import { confirmed } from "./confirmed.ts";
import { clearLine, interruptible, namedNamespaces, rateLine, shownNamespace, storeFlags } from "./store-flags.ts";
import type { TextStyle } from "./terminal-text.ts";
import { safeText, styleFor, table } from "./terminal-text.ts";

/** Shared by import and restore: loads a file that export or backup wrote into empty namespaces. */

/** `holdfast import FILE`: the original store is no longer used, and this one continues exactly where it ended. */
export const importFile = (invocation: Invocation, path: string): Promise<number> => loadFile(invocation, path, { verb: "import", done: "Imported", leaps: false });

export interface LoadFlavour {
  readonly verb: "import" | "restore";
  readonly done: string;
  readonly leaps: boolean;
  readonly until?: Until;
}

export async function loadFile({ host, flags, json }: Invocation, path: string, { verb, done, leaps, until }: LoadFlavour): Promise<number> {
  const dryRun = flags["dry-run"] === true;
  const undoes = flags.undo === true;
  const { loadExport, planLoad, undoLoad } = await import("../../transfer/files/load-export.ts");
  const wanted = await chooseNamespaces(flags, path, until !== undefined);
  if (until !== undefined && "revision" in until && wanted.size > 1) throw invalidInput("--at", "a revision belongs to one namespace; choose it with --namespace, or pass a time");
  await using runtime = await host.open(storeFlags(flags));
  if (runtime.config.readOnly && !dryRun) throw new HoldfastError("read_only", `${verb} changes the store, and this command was started read-only.`);
  const { engine } = runtime;
  // The tokens in the file would give its author access to this store's server.
  const asked = verb === "restore" || undoes || flags["with-tokens"] === true ? wanted : withoutTokens(wanted);
  if (asked.size < wanted.size) host.stderr.write("holdfast: left out: the file's access tokens; --with-tokens imports them too\n");
  const into = await withoutTokensWhereSomeAre(engine, asked);
  if (into.size < asked.size) host.stderr.write("holdfast: left out: the file's access tokens, because this store has had tokens of its own\n");
  if (undoes) {
    const undone = await undoLoad({ engine, clock: runtime.base.clock, path, into });
    host.stdout.write(
      json ? `${JSON.stringify({ undone })}\n` : undone.length === 0 ? "There is nothing to undo.\n" : undone.map((name) => `${shownNamespace(name)}: empty again\n`).join(""),
    );
    return exitCodes.ok;
  }
  return await interruptible(host, `stopped; nothing was ${verb === "import" ? "imported" : "restored"}.`, async (signal) => {
    const show = rateLine(host);
    const { retryingEngine } = await import("../../transfer/stores/retrying-engine.ts");
    const options: LoadOptions = {
      engine: retryingEngine(engine, runtime.base.clock, signal),
      clock: runtime.base.clock,
      path,
      into,
      until,
      leaps,
      signal,
      onProgress: (stage, records) => show(stage, records),
    };
    const plan = await planLoad(options);
    clearLine(host);
    const planned = [...into].map(([namespace, name]) => ({ namespace, into: name, revision: plan.chosen.get(namespace)?.revision ?? 0 }));
    if (!json) host.stdout.write(renderPlan(planned, styleFor(host.stdout, runtime.config.colourAllowed, 0)));
    const applies =
      !dryRun && (await confirmed(host, { question: `${verb === "import" ? "Import" : "Restore"}?`, otherwise: "nothing was changed", yes: flags.yes === true, json }));
    const loaded = applies ? await loadExport(options, plan) : [];
    clearLine(host);
    if (json) host.stdout.write(`${JSON.stringify({ applied: applies, sha256: plan.sha256, namespaces: applies ? loaded.map(toJson) : planned })}\n`);
    else host.stdout.write(applies ? loaded.map((one) => sentence(done, one)).join("") : `\n${dryRun ? "Nothing was changed: this was a dry run." : "Nothing was changed."}\n`);
    return applies || dryRun ? exitCodes.ok : exitCodes.negative;
  });
}

const toJson = ({ namespace, into, records, through, revision }: Loaded) => ({ namespace, into, records, history_through: through, revision });

const sentence = (done: string, { into, records, through, revision }: Loaded): string =>
  `${done} ${isReservedNamespace(into) ? "the access tokens" : safeText(JSON.stringify(into))}: ${records} records up to revision ${through}, compared with the file.${revision === through ? "" : ` It continues above revision ${revision}, so that no version or token is used twice.`}\n`;

const renderPlan = (planned: readonly { readonly namespace: string; readonly into: string; readonly revision: number }[], style: TextStyle): string =>
  table(
    ["namespace", "into", "history up to revision"],
    planned.map(({ namespace, into, revision }) => [shownNamespace(namespace), shownNamespace(into), String(revision)]),
    style,
  );

const withoutTokens = (into: ReadonlyMap<string, string>): ReadonlyMap<string, string> => new Map([...into].filter(([name]) => !isReservedNamespace(name)));

/** A token that was revoked here must not come back with a file. */
async function withoutTokensWhereSomeAre(engine: Engine, into: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, string>> {
  const { readFacts } = await import("../../transfer/stores/change-seal.ts");
  const kept = new Map(into);
  for (const name of into.keys()) {
    if (!isReservedNamespace(name)) continue;
    const { revision, seal } = await readFacts({ engine, namespace: name });
    if (revision > 0 && seal === undefined) kept.delete(name);
  }
  return kept;
}

/** `ofThen`: the state at an earlier time. Access tokens are left out then, so that access does not go back in time. */
async function chooseNamespaces(flags: Invocation["flags"], path: string, ofThen: boolean): Promise<ReadonlyMap<string, string>> {
  const { readHeader } = await import("../../transfer/files/read-export.ts");
  const { namespaces } = await readHeader(path);
  const named = namedNamespaces(flags);
  const there = namespaces.filter((name) => !isReservedNamespace(name));
  const missing = named?.find((name) => !there.includes(name));
  if (missing !== undefined)
    throw new HoldfastError("not_found", `--namespace: the file has no namespace ${JSON.stringify(missing)}.`, { hint: `It has ${there.slice(0, 20).join(", ")}.` });
  const other = flags["to-namespace"];
  const chosen = named ?? (ofThen || other !== undefined ? there : namespaces);
  if (other === undefined) return new Map(chosen.map((name) => [name, name]));
  if (chosen.length !== 1) throw invalidInput("--to-namespace", "names one namespace; choose it with --namespace");
  requireNamespace(other as string);
  return new Map([[chosen[0] as string, other as string]]);
}
