import { invalidInput } from "../kernel/errors.ts";
import { mustBeOneOf, suggestion } from "../kernel/nearest.ts";
import { catalog } from "./catalog.ts";
import type { Tool, Toolset } from "./tool.ts";
import { toolsets } from "./tool.ts";

export const profiles = ["default", "all", "coding", "coordination", "agentcheckpoint", "sidecar", "goldfish", "sage"] as const;
export type Profile = (typeof profiles)[number];

/** Whether the profile contains the tool. Profiles named after a system contain exactly that system's tools. */
const holds: Record<Profile, (tool: Tool) => boolean> = {
  default: ({ name }) => defaultTools.has(name),
  all: () => true,
  agentcheckpoint: ({ toolset }) => toolset === "agentcheckpoint",
  sidecar: ({ toolset, name }) => sidecarToolsets.has(toolset) && !ownTools.has(name),
  goldfish: ({ toolset }) => toolset === "journal",
  sage: ({ toolset }) => toolset === "research" || toolset === "knowledge",
  coding: ({ name }) => codingTools.has(name),
  coordination: ({ name }) => coordinationTools.has(name),
};

const sidecarToolsets: ReadonlySet<Toolset> = new Set(["state", "workflow", "lease", "session", "history", "admin"]);
/** Tools that none of the replaced systems has. */
const ownTools = new Set(["state_commit", "workflow_finish"]);

const workflowTools = ["workflow_create", "workflow_discover", "workflow_claim", "workflow_checkpoint", "workflow_resume", "workflow_finish"];

/** Many agents on the same work: shared keys, locks, a queue of runs. */
const coordinationTools = new Set([
  "state_set",
  "state_get",
  "state_delete",
  "state_list",
  "state_commit",
  ...workflowTools,
  "lease_acquire",
  "lease_release",
  "lease_renew",
  "effects",
]);

/**
 * One Holdfast tool for each thing an agent does. Tools that replaced systems name differently (JSON-text state, sessions, research)
 * and tools for people at a prompt are in other profiles, because models pick the wrong one of two similar tools.
 */
const defaultTools = new Set([...coordinationTools, "checkpoint", "save_knowledge", "recall_knowledge", "resume"]);

/** One agent that must survive its own crash or a compaction, and leave something for the next one. */
const codingTools = new Set(["checkpoint", "resume", "state_set", "state_get", "state_list", ...workflowTools, "effects", "session_save", "session_restore"]);

export interface Selection {
  readonly profile?: string;
  /** Narrows the profile to these toolsets; without a profile, all of their tools. */
  readonly toolsets?: readonly string[];
  /** Leaves only tools that change nothing. */
  readonly readOnly?: boolean;
}

export function selectTools({ profile: named, toolsets: wanted, readOnly = false }: Selection = {}): readonly Tool[] {
  const profile = named ?? (wanted === undefined ? "default" : "all");
  if (!isProfile(profile)) throw invalidInput("profile", mustBeOneOf(profile, profiles));
  for (const toolset of wanted ?? [])
    if (!isToolset(toolset)) throw invalidInput("tools", `${JSON.stringify(toolset)} is unknown; must be some of ${toolsets.join(", ")}${suggestion(toolset, toolsets)}`);
  const selected = catalog.filter((tool) => holds[profile](tool) && (wanted === undefined || wanted.includes(tool.toolset)) && (!readOnly || tool.effect === "read"));
  if (selected.length === 0)
    throw invalidInput(
      "tools",
      `no tool is in the profile ${profile}${wanted === undefined ? "" : ` and in the toolsets ${wanted.join(", ")}`}${readOnly ? " and read-only" : ""}`,
    );
  return selected;
}

const isProfile = (name: string): name is Profile => (profiles as readonly string[]).includes(name);
const isToolset = (name: string): name is Toolset => (toolsets as readonly string[]).includes(name);
