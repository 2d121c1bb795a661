/** What the demonstration's agents need: in simulated time and live it is another one each. */
export interface World {
  random(): number;
  now(): number;
  over(): boolean;
  sleep(ms: number): Promise<void>;
  /** An error with `refused` ends one piece of work; any other ends the demonstration. */
  call(agent: string, tool: string, args: Record<string, unknown>): Promise<Record<string, unknown>>;
}
export function employ(world: World, absent?: readonly string[]): Promise<unknown>;
export function seeded(seed: number): () => number;
export function principalOf(agent: string): string;
