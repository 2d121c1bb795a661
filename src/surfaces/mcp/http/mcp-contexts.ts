import type { Log } from "../../../kernel/log.ts";
import type { Tool } from "../../../tools/tool.ts";
import { DirectAnswers } from "../direct-answers.ts";
import type { Greeting } from "../greeting.ts";
import { greet } from "../greeting.ts";
import { instructionsFor } from "../instructions.ts";
import { Resources } from "../resources.ts";
import { ToolCalls } from "../tool-calls.ts";
import type { Fixtures } from "./fixtures.ts";
import type { McpAccess } from "./mcp-http.ts";

/** Those whose things are kept ready; the longest known goes first. */
const contextsMax = 1_024;

/** What one caller is served with in one namespace. */
export interface McpContext {
  /** Without what belongs to one request. */
  readonly access: Pick<McpAccess, "base" | "tools" | "key" | "owner">;
  readonly calls: ToolCalls;
  readonly resources: Resources;
  readonly greeting: Greeting;
  readonly answers: DirectAnswers;
}

/** Made at a caller's first request and kept: nothing in it is the caller's state, so that any node can make it. */
export class McpContexts {
  readonly #log: Log;
  readonly #fixtures: Fixtures | undefined;
  readonly #contexts = new Map<string, McpContext>();
  /** Of contexts that were dropped while calls were running. */
  readonly #retired = new Set<ToolCalls>();
  readonly #greetings = new WeakMap<readonly Tool[], Greeting>();
  #stopped = false;

  constructor(log: Log, fixtures: Fixtures | undefined) {
    this.#log = log;
    this.#fixtures = fixtures;
  }

  of(access: McpAccess): McpContext {
    const known = this.#contexts.get(access.key);
    if (known !== undefined && isAsBefore(known.access, access)) return known;
    this.#retire(known);
    if (this.#contexts.size >= contextsMax) this.#retire(this.#contexts.values().next().value);
    const context = this.#make(access);
    this.#contexts.set(access.key, context);
    return context;
  }

  /** Waiting calls, and later ones, return at once with what they have. */
  stopWaiting(): void {
    this.#stopped = true;
    for (const { calls } of this.#contexts.values()) calls.stopWaiting();
    for (const calls of this.#retired) calls.stopWaiting();
  }

  #retire(context: McpContext | undefined): void {
    if (context === undefined) return;
    this.#contexts.delete(context.access.key);
    for (const calls of this.#retired) if (calls.inFlight === 0) this.#retired.delete(calls);
    if (context.calls.inFlight > 0) this.#retired.add(context.calls);
  }

  #make(access: McpAccess): McpContext {
    const log = this.#log;
    const { base, key, owner } = access;
    const tools = this.#fixtures === undefined ? access.tools : [...access.tools, ...this.#fixtures.tools];
    const calls = new ToolCalls({ tools, base, log, elsewhere: this.#fixtures?.elsewhere });
    if (this.#stopped) calls.stopWaiting();
    const resources = new Resources(base, calls);
    const greeting = this.#greetingFor(access);
    return { access: { base, tools: access.tools, key, owner }, calls, resources, greeting, answers: new DirectAnswers({ calls, resources, greeting, log }) };
  }

  /** The same value for the same tools: what is made of it is shared. */
  #greetingFor({ base, tools }: McpAccess): Greeting {
    let greeting = this.#greetings.get(tools);
    if (greeting === undefined) {
      greeting = greet(base.server.version, instructionsFor(tools), tools);
      if (this.#fixtures !== undefined) greeting = { ...greeting, capabilities: { ...greeting.capabilities, ...this.#fixtures.capabilities } };
      this.#greetings.set(tools, greeting);
    }
    return greeting;
  }
}

/** The same caller may come with more or less allowed than before. */
const isAsBefore = (before: McpContext["access"], { base, tools }: McpAccess): boolean =>
  before.base.store === base.store && before.base.server === base.server && before.tools === tools;
