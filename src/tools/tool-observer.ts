import type { ToolOutcome } from "./run-tool.ts";
import type { Tool } from "./tool.ts";

/** Told of every call of a tool, where somebody counts them. It must neither throw nor wait. */
export interface ToolObserver {
  /** A call begins; what it returns comes back with the call's end. */
  began(): number;
  ended(beganMs: number, tool: Tool, outcome: ToolOutcome): void;
}
