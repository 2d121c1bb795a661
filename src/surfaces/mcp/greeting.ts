import type { Tool } from "../../tools/tool.ts";
import { promptsFor } from "./prompts.ts";

/** How this server introduces itself, on both paths and in both eras. */
export interface Greeting {
  readonly serverInfo: { readonly name: string; readonly title: string; readonly version: string };
  readonly capabilities: {
    readonly tools: { readonly listChanged: false };
    readonly resources: { readonly subscribe: true; readonly listChanged: false };
    readonly completions: Record<string, never>;
    readonly prompts?: { readonly listChanged: false };
  };
  readonly instructions: string;
}

/** The protocol versions with a handshake, newest first, and the stateless one. A test compares them with the SDK's. */
export const handshakeVersions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"] as const;
export const statelessVersion = "2026-07-28";

/** Cache hint for 2026-07-28 clients: these results stay the same while the process lives. */
export const staticCacheHint = { ttlMs: 300_000, cacheScope: "private" } as const;

/** Cache hint for resources that are read, which may change at any moment; equal to the SDK's default. */
export const movingCacheHint = { ttlMs: 0, cacheScope: "private" } as const;

export const greet = (version: string, instructions: string, tools: readonly Tool[]): Greeting => ({
  serverInfo: { name: "holdfast", title: "Holdfast", version },
  capabilities: {
    tools: { listChanged: false },
    resources: { subscribe: true, listChanged: false },
    completions: {},
    ...(promptsFor(tools).length > 0 ? { prompts: { listChanged: false } as const } : {}),
  },
  instructions,
});
