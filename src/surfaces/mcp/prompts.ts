import { HoldfastError } from "../../kernel/errors.ts";

const promptArguments = [
  { name: "session_id", description: "Under which id to save the working context; chosen by the agent when left out." },
  { name: "run_id", description: "The workflow run being handed over, if there is one." },
] as const;

export const handoffPrompt = {
  name: "handoff",
  title: "Hand over to another agent",
  description: "Leave the work so that another agent, or you after a restart, can take it up without asking.",
  arguments: promptArguments.map((argument) => ({ ...argument, required: false })),
};

/** The arguments are the user's words; they are quoted, never run together with ours. */
export function handoffText(args: Readonly<Record<string, string>>): string {
  for (const name of Object.keys(args))
    if (!promptArguments.some((argument) => argument.name === name)) throw new HoldfastError("invalid_input", `${name}: unknown argument; allowed: session_id, run_id`);
  const { session_id: sessionId, run_id: runId } = args;
  const steps = [
    runId === undefined
      ? "If you hold a workflow run: workflow_checkpoint what is finished, with all the next step needs."
      : `workflow_checkpoint what is finished of the run ${JSON.stringify(runId)}, with all the next step needs.`,
    `session_save under ${sessionId === undefined ? "an id that your successor can find (say which)" : JSON.stringify(sessionId)}: the goal, what is done, what is open, decisions with their reasons, files and keys involved, the next action. Leave out what can be looked up.`,
    runId === undefined
      ? "lease_release every lease you hold; a run goes back with lease_release on workflow/RUN_ID. Leave nothing to lapse by itself."
      : `lease_release ${JSON.stringify(`workflow/${runId}`)} and every other lease you hold. Leave nothing to lapse by itself.`,
    "session_restore what you saved and check that it can be understood without this conversation.",
    "Answer with the session id, the run id if there is one, and one sentence on the next action.",
  ];
  return `Hand this work over now, with the Holdfast tools:\n\n${steps.map((step, i) => `${i + 1}. ${step}`).join("\n")}`;
}
