import { createHash } from "node:crypto";
import { jumpEvery, seqCount } from "../../ledger/log-position.ts";
import { gapsMax, leapsSinceMs, lostRevisionsMax, recordOverheadBytes, revisionsPerMs } from "../../store/engine-rules.ts";
import { limits } from "../../store/limits.ts";
import { systemWriter } from "../../store/store.ts";
import batchKeys from "./scripts/batch-keys.lua";
import documents from "./scripts/documents.lua";
import epoch from "./scripts/epoch.lua";
import filters from "./scripts/filters.lua";
import meta from "./scripts/meta.lua";
import names from "./scripts/names.lua";
import scan from "./scripts/scan.lua";
import slots from "./scripts/slots.lua";
import storedKey from "./scripts/stored-key.lua";
import windows from "./scripts/windows.lua";

/** Parts that scripts are assembled from. */
const parts = { meta, epoch, documents, slots, windows, scan, filters, storedKey, batchKeys } as const;

/** Values that scripts and JavaScript must agree on, available as `CONST.name` in Lua. */
const constants: Readonly<Record<string, number | string>> = {
  commit_bytes_max: limits.commitBytesMax,
  commit_rows_max: limits.commitRowsMax,
  dump_records_max: limits.dumpRecordsMax,
  gaps_max: gapsMax,
  jump_every: jumpEvery,
  leaps_since_ms: leapsSinceMs,
  lost_revisions_max: lostRevisionsMax,
  record_overhead_bytes: recordOverheadBytes,
  /** The size at which a script stops collecting values, so that no script keeps Redis busy for long. */
  reply_bytes_max: limits.commitBytesMax,
  request_kept_ms: limits.requestKeptMs,
  revision_max: limits.revisionMax,
  revisions_per_ms: revisionsPerMs,
  seq_count: seqCount,
  system_writer: systemWriter,
};

/** Arguments that `ScriptRunner` passes before those of the caller. */
const basisNames = { none: [], read: ["time", "shown_ms"], write: ["time", "shown_ms", "seen", "traits", "home"] } as const;
export type Basis = keyof typeof basisNames;

export interface Script<B extends Basis = Basis, Name extends string = string> {
  readonly text: string;
  /** Identifies the text to a server that has already loaded it. */
  readonly sha: string;
  readonly basis: B;
  /** The names of the caller's first arguments, in order. */
  readonly names: readonly Name[];
}

interface ScriptOptions<B extends Basis, Name extends string> {
  readonly basis: B;
  readonly flags?: readonly ("no-writes" | "allow-oom")[];
  readonly needs?: readonly (keyof typeof parts)[];
  readonly names?: readonly Name[];
}

/** Builds one script from the names of its arguments, the parts it needs, and its own text. */
export function luaScript<B extends Basis, const Name extends string = never>(
  body: string,
  { basis, flags = basis === "write" ? [] : ["no-writes"], needs = [], names: own = [] }: ScriptOptions<B, Name>,
): Script<B, Name> {
  const code = `${names}${needs.map((name) => parts[name]).join("")}${body}`;
  const text = `#!lua${flags.length === 0 ? "" : ` flags=${flags.join(",")}`}\n${resolveNames(code, [...basisNames[basis], ...own])}`;
  return { text, sha: createHash("sha1").update(text).digest("hex"), basis, names: own };
}

/** Replaces names in the code with positions and values: Lua tables would be built again by each call, while no other client is served. */
function resolveNames(code: string, named: readonly string[]): string {
  const argument = (name: string): string => {
    if (name === "rest") return String(named.length + 1);
    if (!named.includes(name)) throw new RangeError(`A script names the argument ${name}, which it does not receive.`);
    return `ARGV[${named.indexOf(name) + 1}]`;
  };
  const constant = (name: string): string => {
    const value = constants[name];
    if (value === undefined) throw new RangeError(`A script names the constant ${name}, which does not exist.`);
    return JSON.stringify(value);
  };
  return code.replaceAll(/\b(ARG|CONST)\.(\w+)/g, (_, table: string, name: string) => (table === "ARG" ? argument(name) : constant(name)));
}

/** The arguments of a script: first the named ones, then the rest. */
export const scriptArguments = <Name extends string>({ names: order }: Script<Basis, Name>, named: Readonly<Record<Name, string>>, rest: readonly string[] = []): string[] =>
  order.map((name) => named[name]).concat(rest);
