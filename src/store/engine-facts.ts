import type { Engine, EngineHealth } from "./store.ts";

/** Facts about an engine for callers that must not use the engine itself. */
export interface EngineFacts {
  /** The engine that holds the store: "sqlite", "postgres" … */
  readonly engineName: string;
  /** The health of the engine and of one namespace. */
  readonly health: (namespace: string) => Promise<EngineHealth>;
}

export const engineFacts = (engine: Engine): EngineFacts => ({ engineName: engine.name, health: (namespace) => engine.health(namespace) });
