import type * as z from "zod";
import type { RecallInput } from "../domain/knowledge/recall.ts";
import type { Mirror } from "../domain/mirror/mirror.ts";
import type { Surroundings } from "../domain/workspace/workspace.ts";
import type { Tracer } from "../kernel/span.ts";
import type { EngineFacts } from "../store/engine-facts.ts";
import type { Scope } from "../store/transact.ts";
import type { ConnectionClaims } from "./claim-identity.ts";
import type { ToolObserver } from "./tool-observer.ts";

/**
 * The effect of a call. Annotations, `--read-only` and the documentation derive from it.
 * - read: changes nothing.
 * - write: adds or replaces; replaced values stay readable in history. Repeating the call makes a second change.
 * - write-idempotent: repeating the call leaves the same state (a deadline may move).
 * - destructive: removes something.
 */
export type Effect = "read" | "write" | "write-idempotent" | "destructive";

export const toolsets = ["state", "agentcheckpoint", "workflow", "lease", "effects", "session", "history", "journal", "research", "knowledge", "resume", "admin"] as const;
export type Toolset = (typeof toolsets)[number];

/** `plain` is Goldfish's name for `text`. All characters are kept, except in the goldfish profile, which writes ASCII. */
export const journalFormats = ["text", "plain", "emoji", "json", "dual"] as const;
export type JournalFormat = (typeof journalFormats)[number];

/** What handlers can know about the server. */
export interface ServerFacts extends EngineFacts {
  readonly version: string;
  readonly startedAtMs: number;
  /** The profile, if one was selected by name. A profile named after a replaced system also answers in that system's formats. */
  readonly profile?: string;
  /** The claims made on each connection. */
  readonly claims?: ConnectionClaims;
  /** The default duration of a workflow claim. */
  readonly claimTtlMs: number;
  /** How much of the engine's health the caller may see; everything if absent. Set only for callers on other machines. */
  readonly tellsOf?: "store" | "namespace";
  /** The caller's folder; absent if the server is not on the caller's machine. */
  readonly surroundings?: Surroundings;
  /** The default output format of the journal. */
  readonly journalFormat?: JournalFormat;
  /** How long journal entries are kept by default; forever if absent. */
  readonly journalTtlMs?: number;
  /** Readable copies of checkpoints and notes; only if the store is a local file. */
  readonly mirror?: Mirror;
  /** Writes a restorable copy of a namespace before it is cleared; only if the store is a local file. */
  readonly backUp?: (namespace: string) => Promise<{ readonly path: string; readonly revision: number }>;
  /** How to handle known shapes of secrets in text to be stored; absent = stored unchanged. */
  readonly secrets?: "refuse" | "redact";
  /** Notes by meaning; only where a model is configured. */
  readonly vectors?: RecallInput["vectors"];
  /** Set if calls are traced. */
  readonly tracer?: Tracer;
  /** Notified of every call, if metrics are on. */
  readonly observer?: ToolObserver;
}

export interface ToolContext extends Scope {
  readonly server: ServerFacts;
  /** A single connection of a client, or a single command. */
  readonly connection?: string;
}

/** Identifies a request for retries. Every tool that writes accepts it next to the arguments of its schema. */
export const requestKeyArgument = "request_key";

/** A sentence of a description that names other tools; included only if all of them are offered. */
export interface Pointer {
  readonly to: readonly string[];
  readonly text: string;
}

/** The command for a tool, where the rule "first word, rest of the name" gives an awkward one. */
export interface ToolCommand {
  readonly command: readonly string[];
}

/** The single definition of a tool, from which MCP, CLI, documentation and tests are derived. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  /** What the tool changes and returns, without naming other tools. */
  readonly description: string;
  /** Which related tool to use instead, or next. */
  readonly pointers?: readonly Pointer[];
  readonly toolset: Toolset;
  readonly effect: Effect;
  readonly input: z.ZodObject;
  readonly output: z.ZodObject;
  /** Parameters that the command line takes by position. */
  readonly positional: readonly string[];
  readonly cli?: ToolCommand;
  /** Optional text parameters whose empty value has a meaning or should be rejected; for others, "" counts as absent. */
  readonly keepsEmpty?: readonly string[];
  /** For a tool that writes: whether a call with these arguments changes nothing. */
  onlyReads?(args: Readonly<Record<string, unknown>>): boolean;
  /**
   * For a tool that saves memories: moves arguments that its schema does not know into other fields; undefined if
   * it cannot. In a profile named after a system, that system's arguments need no warning.
   */
  adoptUnknown?(
    known: Record<string, unknown>,
    unknown: Record<string, unknown>,
    profile?: string,
  ): { readonly args: Record<string, unknown>; readonly warnings: readonly string[] } | undefined;
  /** A field that repeats the other fields as prose. MCP sends it as text only, not in the structured content, except in the profile of the system that documents it. */
  readonly wording?: { readonly field: string; readonly keptIn: string };
  /** Renders the answer as text for a reader, if its JSON is not suitable. */
  render?(answer: Record<string, unknown>): readonly string[];
  handle(context: ToolContext, args: Record<string, unknown>): Promise<Record<string, unknown>>;
}

interface Definition<Input extends z.ZodObject, Output extends z.ZodObject> extends Omit<Tool, "input" | "output" | "positional" | "handle"> {
  readonly input: Input;
  readonly output: Output;
  readonly positional: readonly (keyof z.output<Input> & string)[];
  handle(context: ToolContext, args: z.output<Input>): Promise<Answer<z.input<Output>>>;
}

/** The compiler checks the keys of the output. `runTool` checks its fixed words ("ok", "conflict"), because inference would widen them to strings here. */
type Answer<T> = T extends string ? string : T extends readonly (infer Item)[] ? readonly Answer<Item>[] : T extends object ? { readonly [K in keyof T]: Answer<T[K]> } : T;

/** Infers the handler's types from the schemas; returns the definition itself. */
export const defineTool = <Input extends z.ZodObject, Output extends z.ZodObject>(definition: Definition<Input, Output>): Tool => definition as unknown as Tool;
