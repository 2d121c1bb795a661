import type { ToolOutcome } from "./run-tool.ts";
import type { Tool } from "./tool.ts";

/** Notified of every tool call, for metrics. It must neither throw nor block. */
export interface ToolObserver {
  /** Called when a call begins. `ended` gets the returned value back. */
  began(): number;
  ended(beganMs: number, tool: Tool, outcome: ToolOutcome): void;
}
