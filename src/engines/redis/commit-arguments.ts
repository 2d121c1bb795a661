import type { Check, CommitResult, Committed, FailedCheck, PreparedCommit, PreparedWrite } from "../../store/store.ts";
import { scriptArguments } from "./lua-script.ts";
import { encodeIndex, nul, recordText, toEntry, toRequest, toWrites } from "./records.ts";
import { commitScript } from "./redis-scripts.ts";

/** The maximum work of one script: rows written, and a share for every search term. A larger batch is split into several scripts. */
const workMax = 800;
const workOfTerm = 0.25;

/** Passes each key once and refers to it by number: a batch often names the same key many times. */
export class KeyNumbers {
  readonly keys: string[] = [];
  readonly #numbers = new Map<string, string>();

  of(key: string): string {
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    this.keys.push(key);
    const number = String(this.keys.length);
    this.#numbers.set(key, number);
    return number;
  }
}

/** The arguments of the commit script after those common to every write; commit.lua describes them. */
export function commitArguments(batch: readonly PreparedCommit[]): string[] {
  const numbers = new KeyNumbers();
  const args: string[] = [];
  for (const { checks, writes, request, writer, agent } of batch) {
    const start = args.length;
    args.push("", String(checks.length), String(writes.length), request?.key ?? "");
    if (request !== undefined) args.push(JSON.stringify(request.fingerprint), JSON.stringify(request.note));
    args.push(writer, agent ?? "");
    for (const check of checks) args.push(numbers.of(check.key), testOf(check));
    for (const write of writes) pushWrite(args, write, numbers);
    args[start] = String(args.length - start);
  }
  return scriptArguments(commitScript, { key_count: String(numbers.keys.length) }, numbers.keys.concat(String(batch.length), args));
}

function testOf(check: Check): string {
  if ("is" in check) return check.is === "absent" ? "a" : "p";
  return "version" in check ? `v${check.version}` : `r${check.revision}`;
}

function pushWrite(args: string[], write: PreparedWrite, numbers: KeyNumbers): void {
  const number = numbers.of(write.key);
  if (write.op === "delete") {
    args.push("d", number, recordText(write.record));
    return;
  }
  const { ttlMs, record, lapse, json, index } = write;
  args.push(`${index === undefined ? "p" : "i"}${ttlMs ?? ""}`, number, recordText(record), recordText(lapse), json);
  if (index !== undefined) args.push(encodeIndex(index));
}

type RawResult = string | readonly (string | number)[];
export type CommitDone = readonly [nowMs: string, revision: string, results: readonly RawResult[], leapt: string];
export type CommitReply = CommitDone | readonly ["sealed", seal: string] | readonly ["full"];

export const commitResults = (batch: readonly PreparedCommit[], nowMs: number, results: readonly RawResult[]): CommitResult[] =>
  batch.map((commit, i) => commitResult(commit, nowMs, results[i] as RawResult));

function commitResult({ checks, request }: PreparedCommit, atMs: number, result: RawResult): CommitResult {
  if (typeof result !== "string") return { ok: false, reason: "checks", revision: Number(result[1]), atMs, failed: failedChecks(checks, result) };
  const text = result.slice(1);
  switch (result[0]) {
    case "k":
      return { ...toRequest(text).outcome, replayed: true };
    case "u":
      return { ok: false, reason: "request_key_reused", revision: Number(text), atMs };
    default: {
      const end = text.indexOf(nul);
      const outcome: Committed = { ok: true, revision: Number(text.slice(0, end)), atMs, writes: toWrites(text.slice(end + 1)), replayed: false };
      return request === undefined ? outcome : { ...outcome, note: request.note };
    }
  }
}

function failedChecks(checks: readonly Check[], result: readonly (string | number)[]): FailedCheck[] {
  const failed: FailedCheck[] = [];
  for (let i = 2; i < result.length; i += 2) {
    const check = checks[result[i] as number] as Check;
    const header = result[i + 1] as string;
    failed.push({ check, entry: header === "" ? undefined : toEntry(check.key, header, "") });
  }
  return failed;
}

const workOf = ({ checks, writes }: PreparedCommit): number =>
  1 + checks.length / 4 + writes.reduce((sum, write) => sum + 1 + (write.op === "put" ? (write.index?.terms.length ?? 0) * workOfTerm : 0), 0);

/** Splits a batch into parts that Redis completes in a few milliseconds each: while a script runs, no other client is served. */
export function partsOf(batch: readonly PreparedCommit[]): PreparedCommit[][] {
  const parts: PreparedCommit[][] = [];
  let work = Number.POSITIVE_INFINITY;
  for (const commit of batch) {
    const more = workOf(commit);
    if (work + more > workMax) {
      parts.push([]);
      work = 0;
    }
    parts.at(-1)?.push(commit);
    work += more;
  }
  return parts;
}
