import { realpathSync } from "node:fs";
import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { isReservedNamespace } from "../../store/namespace-store.ts";
import { compareKeys } from "../../store/ranges.ts";
import type { Engine } from "../../store/store.ts";
import type { CliHost, Invocation } from "./command.ts";
import { exitCodes } from "./command.ts";
import { safeText } from "./terminal-text.ts";

/** Shared by the commands that work on whole stores. */

/** For a command's details: every command has --namespace, and here it selects namespaces. */
export const namespacesMeaning = (verb: string): string =>
  `All namespaces are ${verb}, together with the access tokens (holdfast token). With --namespace, only the named ones are, separated by commas, and without access tokens. HOLDFAST_NAMESPACE is ignored here.`;

/** No namespace has a comma in its name. */
export function namedNamespaces({ namespace }: Invocation["flags"]): readonly string[] | undefined {
  if (typeof namespace !== "string") return undefined;
  return [...new Set(namespace.split(",").map((name) => name.trim()))].sort(compareKeys);
}

/** The flags without --namespace: the store is opened as a whole. */
export const storeFlags = ({ namespace: _, ...flags }: Invocation["flags"], store?: string): Invocation["flags"] => (store === undefined ? flags : { ...flags, store });

export async function chosenNamespaces(engine: Engine, named: readonly string[] | undefined): Promise<readonly string[]> {
  const all = await engine.namespaces();
  const there = all.filter((name) => !isReservedNamespace(name));
  const missing = named?.find((name) => !there.includes(name));
  if (missing !== undefined)
    throw new HoldfastError("not_found", `--namespace: the store has no namespace ${JSON.stringify(missing)}.`, {
      hint: there.length === 0 ? "The store is empty." : `It has ${there.slice(0, 20).join(", ")}${there.length > 20 ? " …" : ""}.`,
    });
  return named ?? all;
}

/** Holdfast's own namespace has no name that means anything to people. */
export const shownNamespace = (namespace: string): string => (isReservedNamespace(namespace) ? "(access tokens)" : safeText(namespace));

/** Identifies a store by its file; other stores are compared once they are open. */
export function requireOtherStore(from: string, to: string): void {
  for (const [field, url] of [
    ["<from>", from],
    ["<to>", to],
  ] as const)
    if (url.startsWith("memory:")) throw invalidInput(field, "memory: keeps nothing beyond the command; name a store that lasts");
  if (from === to || realFile(from) === realFile(to)) throw invalidInput("<to>", "is the same store as <from>; nothing was changed");
}

function realFile(url: string): string {
  if (!url.startsWith("sqlite:")) return url;
  try {
    return `sqlite:${realpathSync(url.slice("sqlite:".length))}`;
  } catch {
    return url;
  }
}

/** Runs long work that Ctrl-C ends cleanly; `whenStopped` describes what remains and how to continue. */
export async function interruptible(host: CliHost, whenStopped: string, work: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const stop = new AbortController();
  const stopListening = host.onSignal(() => stop.abort());
  try {
    return await work(stop.signal);
  } catch (error) {
    if (!stop.signal.aborted || (error as Error).name !== "AbortError") throw error;
    clearLine(host);
    host.stderr.write(`holdfast: ${whenStopped}\n`);
    return exitCodes.interrupted;
  } finally {
    stopListening();
  }
}

const showEveryMs = 100;

/** One line on a terminal, overwritten, with the rate; nothing if the output is not a terminal. */
export function rateLine({ stderr }: CliHost): (what: string, records: number, rest?: string) => void {
  if (stderr.isTTY !== true) return () => {};
  let what = "";
  let startedMs = 0;
  let shownMs = Number.NEGATIVE_INFINITY;
  return (doing, records, rest = "") => {
    const nowMs = performance.now();
    if (doing !== what) [what, startedMs, shownMs] = [doing, nowMs, Number.NEGATIVE_INFINITY];
    if (nowMs - shownMs < showEveryMs) return;
    shownMs = nowMs;
    const rate = records / Math.max(0.001, (nowMs - startedMs) / 1_000);
    stderr.write(`\r\u001b[K${doing}: ${records} records${rate > 0 ? `, ${Math.round(rate)}/s` : ""}${rest}`);
  };
}

export function clearLine({ stderr }: CliHost): void {
  if (stderr.isTTY === true) stderr.write("\r\u001b[K");
}
