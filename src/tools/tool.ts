import type * as z from "zod";
import type { Mirror } from "../domain/mirror/mirror.ts";
import type { Surroundings } from "../domain/workspace/workspace.ts";
import type { Tracer } from "../kernel/span.ts";
import type { EngineFacts } from "../store/engine-facts.ts";
import type { Scope } from "../store/transact.ts";
import type { ConnectionClaims } from "./claim-identity.ts";
import type { ToolObserver } from "./tool-observer.ts";

/**
 * What a call does, in one word; annotations, `--read-only` and the documentation derive from it.
 * - read: changes nothing.
 * - write: adds or replaces; what it replaces stays readable in history. The same call again is a second change.
 * - write-idempotent: the same call again leaves things as the first left them (a deadline may move on).
 * - destructive: takes something away.
 */
export type Effect = "read" | "write" | "write-idempotent" | "destructive";

export const toolsets = ["state", "agentcheckpoint", "workflow", "lease", "session", "history", "journal", "research", "knowledge", "resume", "admin"] as const;
export type Toolset = (typeof toolsets)[number];

/** `plain` is Goldfish's word for `text`. Every character is kept, except in the profile named after Goldfish, which writes ASCII. */
export const journalFormats = ["text", "plain", "emoji", "json", "dual"] as const;
export type JournalFormat = (typeof journalFormats)[number];

/** What a handler may say of the server it runs in. */
export interface ServerFacts extends EngineFacts {
  readonly version: string;
  readonly startedAtMs: number;
  /** The profile that was asked for by name: one named after a replaced system also answers in that system's forms. */
  readonly profile?: string;
  /** The claims made on each connection. */
  readonly claims?: ConnectionClaims;
  /** How long a workflow claim lasts if the caller does not specify it. */
  readonly claimTtlMs: number;
  /** What of the engine's health the caller is told; all of it when absent. Present: the caller is on another machine. */
  readonly tellsOf?: "store" | "namespace";
  /** The folder callers work in; absent where the server is not on their machine. */
  readonly surroundings?: Surroundings;
  /** How the journal answers when the call does not say. */
  readonly journalFormat?: JournalFormat;
  /** How long journal entries are kept when the call does not say; for ever when absent. */
  readonly journalTtlMs?: number;
  /** Readable copies of checkpoints and notes; only where the store is a local file. */
  readonly mirror?: Mirror;
  /** Writes a restorable copy of one namespace before it is cleared; only where the store is a local file. */
  readonly backUp?: (namespace: string) => Promise<{ readonly path: string; readonly revision: number }>;
  /** What happens to known shapes of secrets in what is to be stored; they are stored as they are when absent. */
  readonly secrets?: "refuse" | "redact";
  /** Where calls are traced. */
  readonly tracer?: Tracer;
  /** Told of every call, where somebody counts. */
  readonly observer?: ToolObserver;
}

export interface ToolContext extends Scope {
  readonly server: ServerFacts;
  /** One connection of one client, or one command. */
  readonly connection?: string;
}

/** What a retry gives again: an argument of every tool that writes, beside those of its schema. */
export const requestKeyArgument = "request_key";

/** A sentence of a description that names other tools; said only where all of them are offered. */
export interface Pointer {
  readonly to: readonly string[];
  readonly text: string;
}

/** How the command line spells a tool, where the rule "first word, rest of the name" reads badly. */
export interface ToolCommand {
  readonly command: readonly string[];
}

/** One value per tool; MCP, CLI, documentation and tests are derived from it. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  /** What changes and what comes back, without naming another tool. */
  readonly description: string;
  /** Which sibling to use instead, or next. */
  readonly pointers?: readonly Pointer[];
  readonly toolset: Toolset;
  readonly effect: Effect;
  readonly input: z.ZodObject;
  readonly output: z.ZodObject;
  /** Parameters that the command line takes by position. */
  readonly positional: readonly string[];
  readonly cli?: ToolCommand;
  /** Optional texts whose empty form means something, or is better refused; elsewhere "" is as good as absent. */
  readonly keepsEmpty?: readonly string[];
  /** Of a tool that writes: do these arguments ask for something that changes nothing? */
  onlyReads?(args: Readonly<Record<string, unknown>>): boolean;
  /** Of a tool that saves memories: a place for arguments that its schema does not know; undefined where it has none for them. In a profile named after a system, that system's own need no warning. */
  adoptUnknown?(
    known: Record<string, unknown>,
    unknown: Record<string, unknown>,
    profile?: string,
  ): { readonly args: Record<string, unknown>; readonly warnings: readonly string[] } | undefined;
  /** A field that says in words what the others hold as data: MCP sends it as text and not in the structured content too, except in the profile of the system that documents it. */
  readonly wording?: { readonly field: string; readonly keptIn: string };
  /** The answer as texts for a reader, where its JSON would not do. */
  render?(answer: Record<string, unknown>): readonly string[];
  handle(context: ToolContext, args: Record<string, unknown>): Promise<Record<string, unknown>>;
}

interface Definition<Input extends z.ZodObject, Output extends z.ZodObject> extends Omit<Tool, "input" | "output" | "positional" | "handle"> {
  readonly input: Input;
  readonly output: Output;
  readonly positional: readonly (keyof z.output<Input> & string)[];
  handle(context: ToolContext, args: z.output<Input>): Promise<Answer<z.input<Output>>>;
}

/** The output's keys are checked when compiling, its fixed words ("ok", "conflict") by `runTool`: inference would widen them to strings here. */
type Answer<T> = T extends string ? string : T extends readonly (infer Item)[] ? readonly Answer<Item>[] : T extends object ? { readonly [K in keyof T]: Answer<T[K]> } : T;

/** Types the handler by its schemas; the value itself is the tool. */
export const defineTool = <Input extends z.ZodObject, Output extends z.ZodObject>(definition: Definition<Input, Output>): Tool => definition as unknown as Tool;
