import { statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { errorCodes, isHoldfastError } from "../../kernel/errors.ts";
import { shownUrl } from "../../kernel/store-url.ts";
import type { EngineHealth, EngineWarning } from "../../store/store.ts";
import { profiles, selectTools } from "../../tools/profiles.ts";
import { tokenCost } from "../../tools/token-cost.ts";
import { checkNamespace } from "../../transfer/stores/check-namespace.ts";
import { blobsFindings } from "./blobs-finding.ts";
import type { CliHost, CliRuntime, Command, Invocation } from "./command.ts";
import { exitCodes } from "./command.ts";
import { embeddingsFindings } from "./embeddings-finding.ts";
import { notesFindings } from "./notes-finding.ts";
import { stuckFindings } from "./stuck-work.ts";
import type { TextStyle } from "./terminal-text.ts";
import { green, red, safeText, styleFor, wrap, yellow } from "./terminal-text.ts";

export interface Finding {
  readonly check: string;
  readonly status: "ok" | "warn" | "fail";
  readonly says: string;
  /** The remedy, if the finding does not name it. */
  readonly fix?: string;
}

export const doctorCommand: Command = {
  path: ["doctor"],
  summary: "Check this machine and the store, list stuck work, and show how to fix problems",
  details: "Changes nothing and does not create a missing store; a missing store is a warning. Exits with 0 if no check failed, even with warnings, and with 7 otherwise.",
  operands: "",
  flags: [{ name: "deep", meaning: "Also read the whole store, every record and its history, to find damage that no command has run into yet." }],
  examples: ["holdfast doctor", "holdfast doctor --deep --json"],
  run: runDoctor,
};

async function runDoctor({ host, flags, json }: Invocation): Promise<number> {
  const findings: Finding[] = [checkNode(process.versions.node)];
  let colourAllowed = true;
  try {
    await using runtime = await host.open(flags, { onlyLooks: true });
    colourAllowed = runtime.config.colourAllowed;
    findings.push(...(await examine(runtime, host, flags.deep === true)));
  } catch (error) {
    if (!isHoldfastError(error) || error.code === "invalid_input") throw error;
    // Before the first use, a missing store is normal.
    const isFresh = error.code === "not_found";
    findings.push({ check: "store", status: isFresh ? "warn" : "fail", says: error.localMessage ?? error.message, fix: error.hint ?? errorCodes[error.code].meaning });
  }
  findings.push(...profileCosts());
  const failed = findings.some(({ status }) => status === "fail");
  if (json) host.stdout.write(`${JSON.stringify({ ok: !failed, findings })}\n`);
  else host.stdout.write(renderFindings(findings, styleFor(host.stdout, colourAllowed, 0)));
  return failed ? errorCodes.store_unsupported.exit : exitCodes.ok;
}

/** The minimum is the package's; Node 20 works but gets no more fixes. */
export function checkNode(nodeVersion: string): Finding {
  const [major = 0, minor = 0] = nodeVersion.split(".").map(Number);
  const says = `Node ${nodeVersion}`;
  if (major < 20 || (major === 20 && minor < 19)) return { check: "node", status: "fail", says, fix: "Holdfast needs Node 20.19 or newer." };
  if (major === 20) return { check: "node", status: "warn", says: `${says}; Node 20 no longer gets security fixes`, fix: "Install Node 24." };
  return { check: "node", status: "ok", says };
}

async function examine(runtime: CliRuntime, host: CliHost, deep: boolean): Promise<Finding[]> {
  const { base, config } = runtime;
  const health = await base.server.health(base.store.namespace);
  const { revision } = await base.store.position();
  return [
    { check: "store", status: "ok", says: `${shownUrl(config.store)} (from ${config.origins.store}), namespace ${config.namespace} at revision ${revision}` },
    ...engineFindings(health),
    ...(await fileFindings(config.store)),
    ...(await stuckFindings(base)),
    ...(await notesFindings(base)),
    ...(await embeddingsFindings(base, config)),
    ...(deep ? await readEverything(runtime, host) : []),
  ];
}

function engineFindings({ engine, durability, facts, warnings }: EngineHealth): Finding[] {
  const version =
    facts.sqlite_version !== undefined
      ? `, SQLite ${String(facts.sqlite_version)} through ${String(facts.driver)}`
      : facts.server_version === undefined
        ? ""
        : ` ${String(facts.server_version)}`;
  const others = warnings.filter(({ about }) => !ownFindings.includes(about));
  return [
    { check: "engine", status: "ok", says: `${engine}${version}` },
    durabilityFinding(engine, durability, facts, warnings),
    clockFinding(warnings),
    ...others.map(({ about, says }): Finding => ({ check: about, status: "warn", says })),
  ];
}

/** Warnings that have their own finding, so that one cause is reported once. */
const ownFindings: readonly EngineWarning["about"][] = ["clock", "durability", "file mode"];

function clockFinding(warnings: EngineHealth["warnings"]): Finding {
  const ahead = warnings.find(({ about }) => about === "clock")?.says;
  if (ahead === undefined) return { check: "clock", status: "ok", says: "the store's clock and this machine's agree" };
  return {
    check: "clock",
    status: "warn",
    says: ahead.replace(/ Check the machine's clock\.$/, ""),
    fix: "Correct the machine's clock; the store continues once the clock has caught up.",
  };
}

function durabilityFinding(engine: string, durability: string, facts: EngineHealth["facts"], warnings: EngineHealth["warnings"]): Finding {
  if (engine === "memory") return { check: "durability", status: "warn", says: durability, fix: "Use a sqlite: store for work that matters." };
  const said = warnings.filter(({ about }) => about === "durability").map(({ says }) => says);
  if (said.length > 0) return { check: "durability", status: "warn", says: durability, fix: said.join(" ") };
  const settings = facts.synchronous === undefined ? "" : ` (read back: journal ${String(facts.journal_mode)}, synchronous ${String(facts.synchronous)})`;
  const full = facts.synchronous === undefined || facts.synchronous === "FULL";
  return full
    ? { check: "durability", status: "ok", says: `${durability}${settings}` }
    : {
        check: "durability",
        status: "fail",
        says: `synchronous is ${String(facts.synchronous)}, not FULL: acknowledged writes can be lost`,
        fix: "Report this as a bug; Holdfast sets FULL on every connection.",
      };
}

const freeBytesMin = 256 * 1024 * 1024;

/** Files that other users may read, and a disk that is almost full. */
export async function fileFindings(storeUrl: string): Promise<Finding[]> {
  if (!storeUrl.startsWith("sqlite:")) return [];
  const path = storeUrl.slice("sqlite:".length);
  const findings: Finding[] = [];
  if (process.platform !== "win32") {
    const open = [path, `${path}-wal`, `${path}-shm`].filter((file) => ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0);
    const folder = dirname(path);
    const folderMode = statSync(folder).mode;
    if (open.length > 0) findings.push({ check: "file modes", status: "warn", says: "other users of this machine can read the store", fix: `chmod 600 ${open.join(" ")}` });
    // The sticky bit (as on /tmp) prevents others from replacing the file.
    else if ((folderMode & 0o002) !== 0 && (folderMode & 0o1000) === 0)
      findings.push({ check: "file modes", status: "warn", says: "any user can replace files in the store's folder", fix: `chmod o-w ${folder}` });
    else findings.push({ check: "file modes", status: "ok", says: "only this user can read the store" });
  }
  const { bavail, bsize } = await statfs(dirname(path));
  const freeBytes = bavail * bsize;
  const free = `${Math.floor(freeBytes / 1_048_576)} MiB free`;
  findings.push(
    freeBytes < freeBytesMin ? { check: "disk", status: "warn", says: free, fix: "Make room: a full disk refuses every write." } : { check: "disk", status: "ok", says: free },
  );
  return findings;
}

/** Reads every namespace through the engine, as any reader would, and checks the engine's files if it has its own. Shows progress only on a terminal. */
async function readEverything({ engine, base }: CliRuntime, { stderr }: CliHost): Promise<Finding[]> {
  let seen = 0;
  const progress =
    (what: string) =>
    (count: number): void => {
      seen += count;
      if (stderr.isTTY === true) stderr.write(`\r\u001b[Kchecking ${what}: ${seen} records`);
    };
  const damaged = new Set(await engine.checkFiles(progress("the store's files")));
  const namespaces = await engine.namespaces();
  for (const namespace of namespaces) for (const record of await checkNamespace(engine, namespace, progress(namespace))) damaged.add(record);
  const records = seen;
  const blobs = await blobsFindings(engine, base.clock, namespaces, progress("blobs"));
  if (stderr.isTTY === true) stderr.write("\r\u001b[K");
  if (damaged.size === 0)
    return [
      { check: "records", status: "ok", says: `${records} records of ${namespaces.length} ${namespaces.length === 1 ? "namespace" : "namespaces"} read back whole` },
      ...blobs,
    ];
  const fix = "Restore a backup. If no backup is recent, export what can still be read first.";
  return [...[...damaged].map((record): Finding => ({ check: "records", status: "fail", says: `damaged: ${record}`, fix })), ...blobs];
}

function profileCosts(): Finding[] {
  const costs = profiles.map((profile) => {
    const tools = selectTools({ profile });
    return `${profile} ${tools.length} ${tools.length === 1 ? "tool" : "tools"}, about ${tokenCost(tools)} tokens`;
  });
  return [{ check: "profiles", status: "ok", says: costs.join("; ") }];
}

function renderFindings(findings: readonly Finding[], style: TextStyle): string {
  const mark = { ok: green(style, "ok  "), warn: yellow(style, "warn"), fail: red(style, "FAIL") };
  const width = Math.max(...findings.map(({ check }) => check.length));
  const lines = findings.map(({ check, status, says, fix }) => {
    const indent = " ".repeat(width + 8);
    const fitted = (text: string): string => (style.columns === undefined ? text : wrap(text, Math.max(20, style.columns - indent.length)).replaceAll("\n", `\n${indent}`));
    return `${mark[status]}  ${check.padEnd(width)}  ${fitted(safeText(says))}\n${fix === undefined || status === "ok" ? "" : `${indent}${fitted(`fix: ${safeText(fix)}`)}\n`}`;
  });
  const count = (status: Finding["status"]): number => findings.filter((finding) => finding.status === status).length;
  return `${lines.join("")}\n${count("ok")} ok, ${count("warn")} to look at, ${count("fail")} failed\n`;
}
