import type { Server } from "@modelcontextprotocol/server";
import type { Tool } from "../../../tools/tool.ts";
import type { Message } from "../json-rpc.ts";

/**
 * What the conformance tests mount beside the product's own tools, on its real stack. No setting and nothing in the product leads here:
 * only who calls `openMcpHttp` in a program of their own can give one.
 */
export interface Fixtures {
  /** Told in the greeting, beside the product's own. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** Called like the product's own. */
  readonly tools: readonly Tool[];
  /** As they stand in tools/list, after the others; called through what `extend` mounts. */
  readonly elsewhere: readonly { readonly name: string }[];
  /** Called with every server of the SDK when the product's handlers stand. */
  extend(server: Server): void;
  /** A client of the earlier era answers what it was asked. The product asks nothing over HTTP. */
  answered(reply: Message): void;
}
