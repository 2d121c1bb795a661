import { fromBase64, toBase64 } from "../../kernel/base64.ts";
import type { Clock } from "../../kernel/clock.ts";
import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { randomHex } from "../../kernel/ids.ts";
import { blobsOver } from "../library/blob-content.ts";
import { onceOver } from "../library/effect-once.ts";
import type { Effects } from "../library/effects.ts";
import type { Holdfast } from "../library/holdfast.ts";
import type { LibraryMethodName } from "../library/library-methods.ts";
import { libraryMethodNames, libraryMethods, wireArguments } from "../library/library-methods.ts";
import { monotonicClock } from "../library/monotonic-clock.ts";
import { acquireRemotely } from "./acquire-remotely.ts";
import { RemoteCalls } from "./remote-calls.ts";
import { sendableReport } from "./require-json-values.ts";
import { waitRemotely } from "./wait-remotely.ts";
import { watchRemotely } from "./watch-remotely.ts";

export interface ConnectOptions {
  /** An access token for the server, or a function that returns one for each request. Not needed for a server on this machine that trusts its user. */
  readonly token?: string | (() => string | Promise<string>);
  /** By default the namespace of the credential. */
  readonly namespace?: string;
  /** This program's default name in history and as the holder of leases and claims. */
  readonly agent?: string;
  /** The default workspace of journal calls: a folder, a name or an id. The server cannot see this program's folder. */
  readonly workspace?: string;
  /** How long a call is retried after a lost connection or while the server is busy; 30 seconds by default. */
  readonly retryForMs?: number;
  /** How long one attempt may wait for an answer; 30 seconds by default. */
  readonly timeoutMs?: number;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
  /** Replaces the system clock. */
  readonly clock?: Pick<Clock, "nowMs" | "sleep">;
}

/** A record instead of a list, so that the compiler checks that it is complete. */
const optionNames: Readonly<Record<keyof ConnectOptions, true>> = {
  token: true,
  namespace: true,
  agent: true,
  workspace: true,
  retryForMs: true,
  timeoutMs: true,
  fetch: true,
  clock: true,
};

interface Hello {
  readonly namespace: string;
  readonly version: string;
  readonly methods: readonly string[];
}

/**
 * Opens the library on a server's store. Calls are retried after a lost connection. Calls that change something carry a request key, so that a retry
 * cannot take effect twice. Needs `fetch`, web streams and web crypto: Node, Bun, Deno, browsers, workers.
 */
export async function connectHoldfast(url: string | URL, options: ConnectOptions = {}): Promise<Holdfast> {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(optionNames, name));
  if (unknown !== undefined) throw invalidInput(unknown, `unknown option; allowed: ${Object.keys(optionNames).join(", ")}`);
  const { agent, workspace, clock = monotonicClock } = options;
  const calls = new RemoteCalls(serverUrl(url), { ...options, clock });
  const hello = (await calls.hello(options.namespace)) as Hello;
  const namespace = requireHello(hello);
  calls.namespace = namespace;
  // Highlights accumulate over a session; by default, each connection is one session.
  const ownSession = `session-${randomHex(12)}`;

  const toArguments = (name: LibraryMethodName, args: readonly unknown[]): Record<string, unknown> => {
    requireOffered(name, hello);
    const given = wireArguments(name, args);
    // As in the embedded library: cancelling needs no claim, so the default name must not be checked against the holder.
    if (name !== "workflows.finish" || given.status !== "cancelled") given.agent ??= agent;
    if (name.startsWith("journal.") || name === "resume") given.workspace ??= workspace;
    if (name === "journal.save") given.sessionId ??= ownSession;
    if (libraryMethods[name].needs === "write") given.requestKey ??= randomHex(32);
    // The server takes it for the mark of one call. A key that the caller chose would survive a crash, and begin the effect again.
    if (name === "effects.begin") given.requestKey = randomHex(32);
    return given;
  };
  const remote = (name: LibraryMethodName) => {
    const optionsAt = libraryMethods[name].positional.length + (libraryMethods[name].takesObject ? 1 : 0);
    return async (...args: readonly unknown[]): Promise<unknown> => {
      const { signal } = (args[optionsAt] ?? {}) as { readonly signal?: AbortSignal };
      return calls.call(name, toArguments(name, args), { signal });
    };
  };

  const groups: Record<string, Record<string, unknown>> = {};
  for (const name of libraryMethodNames) {
    const [group, method] = name.split(".") as [string, string | undefined];
    if (method !== undefined) groups[group] = { ...groups[group], [method]: remote(name) };
  }
  const { state, leases, effects, blobs, ...others } = groups as unknown as Omit<Holdfast, "namespace" | "resume" | "history" | "health" | "close" | typeof Symbol.asyncDispose>;
  const finish: Effects["finish"] = (attempt, outcome, given) => effects.finish(attempt, sendableReport(outcome), given);
  const close = async (): Promise<void> => calls.close();
  return {
    namespace,
    ...others,
    state: {
      ...state,
      waitFor: async (key, given) => waitRemotely(calls, clock, toArguments("state.waitFor", [key, given]), given?.signal),
      watch: (what, signal) => watchRemotely(calls, clock, toArguments("state.watch", [what]), signal),
    },
    blobs: blobsOver(blobs, { toText: toBase64, fromText: fromBase64 }),
    leases: {
      ...leases,
      acquire: async (resource, given) => acquireRemotely(calls, clock, toArguments("leases.acquire", [resource, given]), given?.signal),
    },
    effects: { ...effects, finish, once: onceOver({ ...effects, finish }, { sleep: clock.sleep, rest: clock.sleep }) },
    resume: remote("resume") as Holdfast["resume"],
    history: remote("history") as Holdfast["history"],
    health: remote("health") as Holdfast["health"],
    close,
    [Symbol.asyncDispose]: close,
  };
}

function serverUrl(given: string | URL): URL {
  let url: URL;
  try {
    url = new URL(given);
  } catch {
    throw invalidInput("url", "must be the address of a Holdfast server, such as http://127.0.0.1:8000");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") throw invalidInput("url", "must begin with http:// or https://");
  // A password in a URL ends up in logs and shell histories.
  if (url.username !== "" || url.password !== "") throw invalidInput("url", "must hold no credential; pass it as token");
  return new URL(url.pathname.endsWith("/") ? url.pathname : `${url.pathname}/`, url);
}

function requireHello({ namespace, methods }: Hello): string {
  if (typeof namespace !== "string" || !Array.isArray(methods)) throw invalidInput("url", "no Holdfast server that offers the library answers there");
  return namespace;
}

function requireOffered(name: LibraryMethodName, { methods, version }: Hello): void {
  if (methods.includes(name)) return;
  throw new HoldfastError("read_only", `${name}: this server (Holdfast ${version}) does not offer it to this credential; nothing was changed.`, {
    hint: "The server was started read-only or is older than this client, or the credential may only read.",
  });
}
