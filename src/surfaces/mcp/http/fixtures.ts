import type { Server } from "@modelcontextprotocol/server";

/**
 * What the conformance tests mount beside the product's own tools, on its real stack. No setting and nothing in the product leads here:
 * only who calls `openMcpHttp` in a program of their own can give one.
 */
export interface Fixtures {
  /** Told in the greeting, beside the product's own. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** As they stand in tools/list, after the product's own. */
  readonly tools: readonly { readonly name: string }[];
  /** Called with every server of the SDK when its own handlers stand. */
  extend(server: Server): void;
}
