import type { HoldfastError } from "../../kernel/errors.ts";
import type { Log } from "../../kernel/log.ts";
import type { Engine } from "../../store/store.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import type { FlagSpec, FlagValue } from "./argv.ts";

/** The part of the configuration that the command line needs; `config.ts` has the rest. */
export interface CliConfig {
  readonly store: string;
  readonly namespace: string;
  readonly agent?: string;
  readonly readOnly: boolean;
  readonly effectAgeMs: number;
  /** Where Goldfish kept its files. */
  readonly goldfishDir?: string;
  /** The model for recalling notes by meaning, if one is configured. */
  readonly embeddings?: string;
  readonly embeddingsModel?: string;
  readonly embeddingsRemote?: boolean;
  readonly colourAllowed: boolean;
  readonly origins: Readonly<Record<string, string>>;
}

export interface CliRuntime extends AsyncDisposable {
  readonly config: CliConfig;
  readonly log: Log;
  readonly base: ToolBase;
  /** All namespaces, for commands that move, check or restore whole stores. */
  readonly engine: Engine;
}

export interface OpenRequest {
  /** The command keeps running and maintains the store, as a server does: entries that expire are swept within about a second. */
  readonly stays?: boolean;
  /** The command only reads: a missing store is `not_found` and is not created. */
  readonly onlyLooks?: boolean;
}

export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(output: string | Uint8Array): unknown;
}

/** The outside world. main provides it; tests provide their own. */
export interface CliHost {
  readonly version: string;
  /** Flags that every command accepts. */
  readonly flags: readonly DocumentedFlag[];
  readonly stdin: () => AsyncIterable<Uint8Array | string>;
  readonly stdinIsTerminal: boolean;
  readonly stdout: Output;
  readonly stderr: Output;
  open(flags: Readonly<Record<string, FlagValue>>, options?: OpenRequest): Promise<CliRuntime>;
  /** An empty store that exists only while the command runs. */
  openScratch(): Promise<{ readonly engine: Engine } & AsyncDisposable>;
  /** Tests the guarantees, on the configured store or, if none is configured, on a temporary one. */
  verify(flags: Readonly<Record<string, FlagValue>>, options: VerifyRequest): Promise<VerifyAnswer>;
  /** Determines what installing or uninstalling would change in a client's files. */
  planClientChange(flags: Readonly<Record<string, FlagValue>>, request: ClientChange): Promise<ClientPlan>;
  /** Determines the changes that put the proxy in front of a server in clients' files, or remove it. */
  planClientWrap(flags: Readonly<Record<string, FlagValue>>, request: ClientWrap): Promise<ClientPlan>;
  /** What to enter by hand in a client that `install` does not know. */
  printServer(flags: Readonly<Record<string, FlagValue>>, request: Pick<ClientChange, "http" | "tokenEnv">): Promise<ServerPrintout>;
  /** Serves HTTP until the returned value is disposed. */
  serve(flags: Readonly<Record<string, FlagValue>>): Promise<ServeAnswer>;
  /** The agent's name if none is given. */
  defaultAgent(): string;
  /** The session of the terminal that the command was started in; undefined without one. */
  terminalSession(): string | undefined;
  /** Makes the command continue even if the reader of its output is gone, because its result must still be recorded. */
  outliveReader(): void;
  childEnvironment(extra: Readonly<Record<string, string>>): NodeJS.ProcessEnv;
  /** Calls the listener for SIGINT, SIGTERM and SIGHUP until the returned function is called. */
  onSignal(listener: (signal: NodeJS.Signals) => void): () => void;
}

export interface VerifyRequest {
  readonly quick: boolean;
  readonly seed: number | undefined;
  /** The user interrupted: stop the workers, clean up, fail with `cancelled`. */
  readonly signal: AbortSignal;
  /** Receives the running campaign and its progress, from 0 to 1. */
  readonly onProgress: (campaign: string, done: number, progress: { readonly nth: number; readonly of: number }) => void;
  /** Receives the readable paragraph of each guarantee as soon as it is tested. */
  readonly onText: (text: string) => void;
}

export interface ClientChange {
  readonly action: "install" | "uninstall";
  readonly client: string;
  readonly scope: string;
  readonly http: string | undefined;
  readonly tokenEnv: string | undefined;
  readonly serverOnly: boolean;
}

export interface ClientWrap extends Pick<ClientChange, "action" | "scope"> {
  /** The name under which the client lists the server. */
  readonly server: string;
  /** Undefined: every client that lists the server. */
  readonly client: string | undefined;
}

export interface ClientPlan {
  readonly client: string;
  readonly scope: string;
  readonly colourAllowed: boolean;
  readonly changes: readonly { readonly path: string; readonly what: string; readonly action: "create" | "change" | "delete"; readonly diff: string }[];
  readonly notes: readonly string[];
  apply(): Promise<{ readonly backups: readonly string[] }>;
}

export interface ServerPrintout {
  readonly config: Readonly<Record<string, unknown>>;
  readonly instructions?: string;
  readonly notes: readonly string[];
}

/** A server that listens. */
export interface ServeAnswer extends AsyncDisposable {
  readonly url: string;
  /** The address it listens on, which a proxy may publish under another address. */
  readonly listensOn: string;
  readonly mcpUrl: string;
  /** Callers on this machine need no token. */
  readonly trustsOperator: boolean;
}

export interface VerifyAnswer {
  readonly passed: boolean;
  /** For scripts: plain JSON. */
  readonly report: unknown;
  /** For people: the text after the paragraphs. */
  readonly text: string;
}

export interface DocumentedFlag extends FlagSpec {
  readonly meaning: string;
  /** The only accepted words, for completion. */
  readonly choices?: readonly string[];
  /** Accepted, but not shown. */
  readonly hidden?: boolean;
  /** Shown only with this command, or with these. */
  readonly of?: string | readonly string[];
}

export interface Invocation {
  readonly host: CliHost;
  readonly flags: Readonly<Record<string, FlagValue>>;
  readonly words: readonly string[];
  /** The arguments after `--`, for a command that accepts them. */
  readonly rest?: readonly string[];
  readonly json: boolean;
}

/** One command. Help, completion and docs/cli.md are generated from these values. */
export interface Command {
  readonly path: readonly string[];
  /** Another spelling of the path as one word: a tool's own name. */
  readonly alias?: string;
  readonly summary: string;
  /** Shown below the summary in help. */
  readonly details?: string;
  /** The operands after the path: `<key> <value>`. */
  readonly operands: string;
  readonly operandMeanings?: readonly { readonly name: string; readonly meaning: string; readonly choices?: readonly string[] }[];
  readonly flags: readonly DocumentedFlag[];
  readonly examples: readonly string[];
  /** Arguments after `--` are passed to another program; otherwise they are ordinary words. */
  readonly takesRest?: boolean;
  run(invocation: Invocation): Promise<number>;
}

export const exitCodes = { ok: 0, negative: 1, interrupted: 130 } as const;

/** The form of a failure for scripts, in the same shape as on the MCP surface. */
export const errorJson = ({ code, message, localMessage, hint, details }: Pick<HoldfastError, "code" | "message" | "hint" | "details"> & Partial<HoldfastError>): string =>
  `${JSON.stringify({ error: { code, message: localMessage ?? message, ...(hint === undefined ? {} : { hint }), ...(details === undefined ? {} : { details }) } })}\n`;
