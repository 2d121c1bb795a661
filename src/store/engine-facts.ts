import type { Engine, EngineHealth } from "./store.ts";

/** What may be said of an engine to those who must not use it. */
export interface EngineFacts {
  /** Which one keeps the store: "sqlite", "postgres" … */
  readonly engineName: string;
  /** What it says of itself and of one namespace. */
  readonly health: (namespace: string) => Promise<EngineHealth>;
}

export const engineFacts = (engine: Engine): EngineFacts => ({ engineName: engine.name, health: (namespace) => engine.health(namespace) });
