import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { mustBeOneOf } from "../../kernel/nearest.ts";
import type { ImportReport } from "../../transfer/import-records.ts";
import type { SourceName } from "../../transfer/originals/reading.ts";
import type { CliHost, Command, Invocation } from "./command.ts";
import { exitCodes } from "./command.ts";
import { confirmed } from "./confirmed.ts";
import type { TextStyle } from "./terminal-text.ts";
import { bold, safeText, styleFor, table, yellow } from "./terminal-text.ts";

/** Repeated here so that the readers are loaded only for an import. */
const sources: readonly SourceName[] = ["agentcheckpoint", "sidecar", "goldfish", "sage", "mirror"];
const isSource = (word: string): word is SourceName => (sources as readonly string[]).includes(word);

export const importCommand: Command = {
  path: ["import"],
  summary: "Import an export, mirror files, or a store of AgentCheckpoint, MCP State Sidecar, Goldfish or Sage",
  details:
    "Reads a database file or a folder, shows what it would import, and asks for confirmation. The original is only read. Existing data is never replaced: an item with the same name but other content is skipped and listed. Importing the same data again changes nothing. Exits with 1 if an item could not be read or was skipped.\n\nA file that holdfast export or holdfast backup wrote is imported whole, with history, versions, revisions, fencing tokens and request keys, into namespaces that must be empty. --namespace selects one of several namespaces in the file. Access tokens are imported only with --with-tokens, and only into a store that never had any. Import a file only if its original store is no longer in use; otherwise use holdfast restore.",
  operands: "[path]",
  operandMeanings: [{ name: "path", meaning: "The database file, or the folder with the files. Optional with --from goldfish if --goldfish-dir or its variable is set." }],
  flags: [
    { name: "from", takes: "SOURCE", choices: sources, meaning: `The system that wrote it: ${sources.join(", ")}. Default: detected from the content.` },
    {
      name: "folder",
      takes: "DIR",
      repeats: true,
      meaning: "A project's folder. Goldfish entries of the workspace with that name are assigned to it. The current folder is always included. May be repeated.",
    },
    { name: "to-namespace", takes: "NAME", meaning: "Import a single-namespace export under this name." },
    { name: "with-tokens", meaning: "Also import the access tokens of an export. Their holders can then use this store's server." },
    { name: "undo", meaning: "Remove what an interrupted import of this export left behind." },
    { name: "dry-run", meaning: "Show what would happen, and change nothing." },
    { name: "yes", meaning: "Skip the confirmation. Required when standard input is not a terminal." },
  ],
  examples: [
    "holdfast import ~/.hermes/checkpoints.db",
    "holdfast import state_sidecar.db --dry-run",
    "holdfast import ~/.coa/goldfish --folder ~/code/api",
    "holdfast import ~/code/api/.memories",
    "holdfast import ~/.sage --yes --json",
    "holdfast import state.jsonl --store postgres://holdfast@db.internal/holdfast --yes",
  ],
  run: runImportCommand,
};

async function runImportCommand({ host, flags, words, json }: Invocation): Promise<number> {
  const [given, ...others] = words;
  const from = flags.from as string | undefined;
  if (given === undefined && from !== "goldfish") throw missingPath();
  if (others.length > 0) throw invalidInput("<path>", "must be one file or folder");
  if (from !== undefined && !isSource(from)) throw invalidInput("--from", mustBeOneOf(from, sources));
  const dryRun = flags["dry-run"] === true;
  if (given !== undefined && from === undefined && (await isOurs(given))) return (await import("./load-file.ts")).importFile({ host, flags, words, json }, given);
  for (const flag of ["to-namespace", "with-tokens", "undo"]) if (flags[flag] !== undefined) throw invalidInput(`--${flag}`, "is for a file that holdfast export or backup wrote");
  await using runtime = await host.open(flags);
  if (runtime.config.readOnly && !dryRun) throw new HoldfastError("read_only", "import changes the store, and this command was started read-only.");
  const path = given ?? runtime.config.goldfishDir;
  if (path === undefined) throw missingPath();
  const [{ readSource }, { importRecords }, { placeWorkspaces }] = await Promise.all([
    import("../../transfer/read-source.ts"),
    import("../../transfer/import-records.ts"),
    import("../../transfer/place-workspaces.ts"),
  ]);
  const { base } = runtime;
  const scope = { ...base, agent: runtime.config.agent };
  const reading = await readSource(path, from);
  const workspaces = await placeWorkspaces(base.store, base.server.surroundings, (flags.folder as readonly string[] | undefined) ?? [], reading.project);
  const run = (isDryRun: boolean): Promise<ImportReport> =>
    importRecords(scope, reading, {
      dryRun: isDryRun,
      workspaceOf: workspaces.of,
      // Mirror files that are being imported need no new copies.
      mirror: reading.source === "mirror" ? undefined : base.server.mirror,
      onProgress: progressLine(host, isDryRun ? "reading" : "importing"),
    });
  const plan = await run(true);
  const style = styleFor(host.stdout, runtime.config.colourAllowed, base.clock.nowMs());
  if (!json) host.stdout.write(renderReport(plan, [...workspaces.byNameOnly], style));
  const isWork = countOf(plan, "new") > 0;
  const applies = !dryRun && isWork && (await confirmed(host, { question: "Import?", otherwise: "nothing was imported", yes: flags.yes === true, json }));
  const report = applies ? await run(false) : plan;
  if (json) host.stdout.write(`${JSON.stringify(toJson(report, applies, [...workspaces.byNameOnly]))}\n`);
  else host.stdout.write(lastLine(report, plan, { applies, dryRun, isWork }));
  const isDeclined = isWork && !applies && !dryRun;
  return isDeclined || report.problems.length > 0 || report.different.length > 0 ? exitCodes.negative : exitCodes.ok;
}

/** A file that cannot be read is reported later, by the reader that needs it. */
async function isOurs(path: string): Promise<boolean> {
  const { isExport } = await import("../../transfer/files/read-export.ts");
  return isExport(path).catch(() => false);
}

const missingPath = (): HoldfastError => invalidInput("<path>", "is missing; pass the database file or the folder to import");

/** One line that is overwritten; nothing if the output is not a terminal. */
function progressLine({ stderr }: CliHost, verb: string): ((done: number, all: number) => void) | undefined {
  if (stderr.isTTY !== true) return undefined;
  let shown = -1;
  return (done, all) => {
    const percent = Math.floor((done / all) * 100);
    if (percent === shown) return;
    shown = percent;
    stderr.write(done === all ? "\r\u001b[K" : `\r\u001b[K${verb} ${done} of ${all} (${percent} %)`);
  };
}

const countOf = ({ kinds }: ImportReport, landing: "new" | "same" | "different" | "lapsed"): number => Object.values(kinds).reduce((sum, counts) => sum + counts[landing], 0);

const sourceTitles: Readonly<Record<SourceName, string>> = {
  agentcheckpoint: "AgentCheckpoint",
  sidecar: "MCP State Sidecar",
  goldfish: "Goldfish",
  sage: "Sage",
  mirror: "mirror files",
};
const linesMax = 20;

function renderReport(report: ImportReport, byNameOnly: readonly string[], style: TextStyle): string {
  const { source, kinds, different, problems, adjusted, leftBehind } = report;
  const rows = Object.entries(kinds).map(([kind, counts]) => [kind, ...[counts.new, counts.same, counts.different, counts.lapsed].map(String)]);
  return [
    `${bold(style, `From ${sourceTitles[source]}`)}\n`,
    rows.length === 0 ? "There is nothing to import.\n" : table(["kind", "new", "here already", "differs", "expired"], rows, style),
    list(
      "Skipped, because the store has them with other content",
      different.map(({ kind, id }) => `${kind} ${id}`),
      style,
    ),
    list(
      "Could not be read or is not allowed",
      problems.map(({ where, reason }) => `${where}: ${reason}`),
      style,
    ),
    list(
      "Imported with changes",
      adjusted.map(({ kind, id, what }) => `${kind} ${id}: ${what}`),
      style,
    ),
    list(
      "Left behind",
      leftBehind.map(({ what, count, reason }) => `${count} ${what}. ${reason}`),
      style,
    ),
    list("Workspaces known only by name; --folder DIR assigns one to its repository", byNameOnly, style),
  ].join("");
}

function list(title: string, lines: readonly string[], style: TextStyle): string {
  if (lines.length === 0) return "";
  const more = lines.length > linesMax ? [`… and ${lines.length - linesMax} more; --json has them all`] : [];
  return `\n${yellow(style, `${title}:`)}\n${[...lines.slice(0, linesMax).map((line) => safeText(line)), ...more].map((line) => `  ${line}\n`).join("")}`;
}

function lastLine(
  report: ImportReport,
  plan: ImportReport,
  { applies, dryRun, isWork }: { readonly applies: boolean; readonly dryRun: boolean; readonly isWork: boolean },
): string {
  if (!applies) return `\n${dryRun ? "Nothing was changed: this was a dry run." : isWork ? "Nothing was imported." : "There is nothing new to import."}\n`;
  const late = report.problems.slice(plan.problems.length).map(({ where, reason }) => `Could not be imported: ${safeText(where)}: ${safeText(reason)}\n`);
  const found = `${countOf(report, "same")} existed already, ${report.different.length} were skipped, ${countOf(report, "lapsed")} expired, ${report.problems.length} not readable`;
  return `\n${late.join("")}Imported ${countOf(report, "new")}; ${found}.\n`;
}

const toJson = ({ source, dryRun: _, kinds, different, problems, adjusted, leftBehind }: ImportReport, applied: boolean, byNameOnly: readonly string[]) => ({
  source,
  applied,
  kinds,
  different,
  problems,
  adjusted,
  left_behind: leftBehind,
  workspaces_by_name: byNameOnly,
});
