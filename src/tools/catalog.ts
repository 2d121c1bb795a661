import { adminTools } from "./admin-tools.ts";
import { agentcheckpointTools } from "./agentcheckpoint-tools.ts";
import { historyTools } from "./history-tools.ts";
import { leaseTools } from "./lease-tools.ts";
import { sessionTools } from "./session-tools.ts";
import { stateTools } from "./state-tools.ts";
import type { Tool } from "./tool.ts";
import { workflowTools } from "./workflow-tools.ts";

/** Every tool, in the order in which clients see them. */
export const catalog: readonly Tool[] = [...stateTools, ...agentcheckpointTools, ...workflowTools, ...leaseTools, ...sessionTools, ...historyTools, ...adminTools];
