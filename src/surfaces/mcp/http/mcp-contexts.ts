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

/** The number of cached contexts; the oldest is dropped first. */
const contextsMax = 1_024;

/** Everything needed to serve one caller in one namespace. */
export interface McpContext {
  /** Without the parts that belong to one request. */
  readonly access: Pick<McpAccess, "base" | "tools" | "key" | "owner">;
  readonly calls: ToolCalls;
  readonly resources: Resources;
  readonly greeting: Greeting;
  readonly answers: DirectAnswers;
}

/** Created at a caller's first request and cached. A context contains no state of the caller, so any node can create it. */
export class McpContexts {
  readonly #log: Log;
  readonly #fixtures: Fixtures | undefined;
  readonly #contexts = new Map<string, McpContext>();
  /** The calls of contexts that were dropped while calls were running. */
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

  /** Waiting calls, and later ones, return at once with the data they have. */
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

  /** Returns the same value for the same tools, so that everything derived from it is shared. */
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

/** The caller's permissions may have changed since its last request. */
const isAsBefore = (before: McpContext["access"], { base, tools }: McpAccess): boolean =>
  before.base.store === base.store && before.base.server === base.server && before.tools === tools;
