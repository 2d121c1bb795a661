import { agentTexts } from "./agent-texts.ts";
import type { Client } from "./clients.ts";
import { clients, serverName } from "./clients.ts";
import type { ReachRequest } from "./reach.ts";
import { reachOf, tokenNote } from "./reach.ts";
import type { Running } from "./server-launch.ts";
import { launchNote } from "./server-launch.ts";

export interface PrintedServer {
  /** The part of a configuration file that most clients understand. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly instructions?: string;
  readonly notes: readonly string[];
}

/** Most clients that `install` does not know read the same format as Claude Code. */
const common: Client = { ...clients["claude-code"], title: "the client", beside: {}, next: "" };

/** What a user enters by hand in a client that `install` does not know. */
export function printServer(request: ReachRequest & { readonly tools: readonly string[] }, running: Running): PrintedServer {
  const reach = reachOf(common, request, running, "user");
  const token = reach.kind === "http" && reach.token !== undefined && reach.token !== "none" ? common.bearer?.(reach.token.name) : undefined;
  const { instructions } = agentTexts(request.tools);
  return {
    config: { mcpServers: { [serverName]: { ...common.entry(reach), ...token } } },
    ...(instructions === undefined ? {} : { instructions }),
    notes: [...tokenNote(common, request, reach), ...(reach.kind === "stdio" ? launchNote(reach.launch) : [])],
  };
}
