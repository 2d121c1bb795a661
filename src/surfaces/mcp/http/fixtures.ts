import type { Server } from "@modelcontextprotocol/server";
import type { Tool } from "../../../tools/tool.ts";
import type { Message } from "../json-rpc.ts";

/**
 * What the conformance tests mount beside the product's own tools, on its real stack. No setting and nothing in the product leads here:
 * only a program that calls `openMcpHttp` itself can pass fixtures.
 */
export interface Fixtures {
  /** Announced in the greeting, beside the product's own capabilities. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** Called like the product's own tools. */
  readonly tools: readonly Tool[];
  /** Listed in tools/list after the others; called through the handlers that `extend` mounts. */
  readonly elsewhere: readonly { readonly name: string }[];
  /** Called with every SDK server after the product's handlers are registered. */
  extend(server: Server): void;
  /** Receives a response from a client of the earlier era. The product itself sends no requests over HTTP. */
  answered(reply: Message): void;
}
