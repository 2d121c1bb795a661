import type { Readable, Writable } from "node:stream";
import type { Unanswered } from "../connect/bridge.ts";

/** The server behind the proxy: MCP messages as lines in both directions, over any transport. */
export interface Upstream {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Resolves when the upstream has ended, with a reason that completes a sentence starting with "The upstream". */
  readonly ended: Promise<string>;
  /** Closes the upstream's input and resolves when it has ended. A process that does not exit by itself is killed. */
  stop(): Promise<void>;
}

/** `onUnanswered` is called for requests that a transport knows will not be answered. */
export type OpenUpstream = (onUnanswered: (unanswered: Unanswered) => void) => Upstream;
