import { adminTools } from "./admin-tools.ts";
import { agentcheckpointTools } from "./agentcheckpoint-tools.ts";
import { effectTools } from "./effect-tools.ts";
import { historyTools } from "./history-tools.ts";
import { journalTools } from "./journal-tools.ts";
import { knowledgeTools } from "./knowledge-tools.ts";
import { leaseTools } from "./lease-tools.ts";
import { researchTools } from "./research-tools.ts";
import { resumeTools } from "./resume-tool.ts";
import { sessionTools } from "./session-tools.ts";
import { stateTools } from "./state-tools.ts";
import type { Tool } from "./tool.ts";
import { workflowTools } from "./workflow-tools.ts";

/** Every tool, in the order clients see them. */
export const catalog: readonly Tool[] = [
  ...stateTools,
  ...agentcheckpointTools,
  ...workflowTools,
  ...leaseTools,
  ...effectTools,
  ...sessionTools,
  ...historyTools,
  ...journalTools,
  ...researchTools,
  ...knowledgeTools,
  ...resumeTools,
  ...adminTools,
];
