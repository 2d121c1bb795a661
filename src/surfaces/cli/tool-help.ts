import type { Tool } from "../../tools/tool.ts";

export interface ToolHelp {
  /** One line, for lists of commands. */
  readonly summary: string;
  readonly details: string;
}

const jsonText = "The value is JSON as text, as AgentCheckpoint stores it.";

/**
 * Help for the command of each tool, written for people at a prompt: flags, exit codes, printed answers. The tool's own description is
 * written for models and names JSON arguments, so neither text is derived from the other.
 */
const toolHelp: Readonly<Record<string, ToolHelp>> = {
  state_set: {
    summary: "Set a key",
    details:
      "Stores a JSON value or plain text under a key. Without --ttl the key never expires. With --expected-version, a key that is at another version is left unchanged: the command prints the current entry and exits with 1. With --lease, the write succeeds only while that lease is held; otherwise it fails with lease_lost. To write several keys at once, use holdfast state commit.",
  },
  state_get: {
    summary: "Get a key",
    details:
      "Prints the current value, or a past one with --version or --revision. With --wait-for-version-above, it first waits for a newer version. Exits with 1 if the key does not exist or has expired. To read many keys, use holdfast state list.",
  },
  state_delete: {
    summary: "Delete a key",
    details:
      "Deletes a key; its history remains readable. Exits with 1 if the key does not exist, or if it is at another version than --expected-version. With --lease, the key is deleted only while that lease is held.",
  },
  state_list: {
    summary: "List keys",
    details: "Lists live keys in byte order, with version, last change and expiry. With --values, it shows the values too. The prefix is literal text without wildcards.",
  },
  state_commit: {
    summary: "Commit several writes",
    details:
      "Sets and deletes several keys at one revision: either all writes take effect or none. If a key in --expected is at another version, nothing is written, the conflicts are printed and the exit code is 1. Keys that are only read can be listed in --expected too. Every --lease must be held.",
  },
  get_state: {
    summary: "Get a key as JSON text",
    details: `Prints a key's value and version, as AgentCheckpoint's own tool does. ${jsonText} Exits with 1 if the key does not exist or has expired. holdfast state get prints plain JSON.`,
  },
  set_state: {
    summary: "Set a key to JSON text",
    details: `Stores a value and prints the new version, as AgentCheckpoint's own tool does. ${jsonText} If the text is not JSON, or the key is at another version than --expected-version, nothing is written and the exit code is 1.`,
  },
  force_set_state: {
    summary: "Overwrite a key with JSON text",
    details: `Stores a value whatever the key's current version is, and prints the new version. ${jsonText} If others write the same key, use holdfast agentcheckpoint set.`,
  },
  list_state: {
    summary: "List keys by pattern",
    details: "Lists live keys that match a SQL LIKE pattern, by default all. The pattern is case-sensitive. To list keys by prefix, use holdfast state list.",
  },
  delete_state: {
    summary: "Delete a key, as AgentCheckpoint does",
    details: "Deletes a key. Exits with 1 if it does not exist. To delete only a known version, use holdfast state delete.",
  },
  workflow_create: {
    summary: "Create a run",
    details:
      "Creates a run that survives crashes. Agents find it by its tags, take it with holdfast workflow claim and read its input with holdfast workflow resume. If you pass --run-id, creating the run again returns the existing one.",
  },
  workflow_discover: {
    summary: "Find runs",
    details:
      "Lists runs that have all the given tags and the status, newest first. With --claimable, it lists the runs that can be claimed now, in the order in which claims take them.",
  },
  workflow_claim: {
    summary: "Claim a run",
    details:
      "Claims one run, or without an id the next claimable run with the given tags. If several agents race, exactly one wins. Claiming your own run again extends the claim. A claim expires after --ttl unless a step is stored before that. If the run cannot be claimed, the reason is printed and the exit code is 1.\n\nTo extend or give up the claim, use holdfast lease renew or holdfast lease release with workflow/RUN_ID. To read what to work on, use holdfast workflow resume.",
  },
  workflow_checkpoint: {
    summary: "Store a step's output",
    details:
      "Stores the output of a step and extends the claim. Storing the same output again changes nothing; another output replaces it. While the run is claimed, only its holder can store steps: pass the same --agent as for the claim, or --token. claim_held means that another agent holds the run. claim_lost means that another agent took it over: stop working on it.",
  },
  workflow_resume: {
    summary: "Show what is needed to continue a run",
    details: "Prints the run's input, its last step and the newest step outputs. With --steps-after, it prints the outputs after that step.",
  },
  workflow_status: {
    summary: "Show a run's status",
    details: "Prints one run's status, last step, holder and times. If a claim has expired, it also prints who held it. For step outputs, use holdfast workflow resume.",
  },
  workflow_list: {
    summary: "List runs",
    details: "Lists all runs, newest first. To filter by tag or status, use holdfast workflow discover.",
  },
  workflow_finish: {
    summary: "Finish a run",
    details:
      "Ends a run as done, failed or cancelled. A failed run with --retry can be claimed again and keeps its steps. While the run is claimed, only its holder can finish it: pass the same --agent as for the claim, or --token. Repeating the command has no further effect.",
  },
  lease_acquire: {
    summary: "Acquire a lease",
    details:
      "Acquires exclusive hold of a name and prints a fencing token. Pass NAME:TOKEN as --lease with every write that the lease protects, so that a stale holder cannot write. Acquiring a lease that you hold extends it. If another agent holds it, the command prints who and until when, and exits with 1; with --wait, it waits in line first.\n\nThe holder is --agent or, without it, this terminal session.",
  },
  lease_release: {
    summary: "Release a lease",
    details: "Releases a lease that you hold. Exits with 1 if the lease has expired, another agent holds it, or --token is not its current token.",
  },
  lease_renew: {
    summary: "Renew a lease",
    details:
      "Extends a lease that you hold to --ttl from now; its token stays the same. Exits with 1 if the lease has expired or another agent holds it: then stop the protected work and acquire the lease again.",
  },
  effects: {
    summary: "List, show or resolve effects, as models do",
    details:
      "Lists effects with the unknown ones first; with an id it shows that effect and its answer, and with --as it resolves an unknown one. holdfast effect list, show and resolve do the same with tables and filters.",
  },
  session_save: {
    summary: "Save a session",
    details:
      "Saves a session's whole context under its id. Earlier versions remain readable. If the session is at another version than --expected-version, nothing is saved and the exit code is 1.",
  },
  session_restore: {
    summary: "Restore a session",
    details: "Prints the context saved under an id: the newest version, or the one given with --version. Exits with 1 if there is none.",
  },
  history_log: {
    summary: "Show who changed what",
    details:
      "Lists changes, newest first, with the old and the new value. Long values are shortened; holdfast state get with --version prints one in full. Filter by key or other id, prefix, kind, writer or revision.",
  },
  checkpoint: {
    summary: "Save an entry in the work journal, search the journal, or show the last entry",
    details:
      "The work journal belongs to the repository of the current folder. With a description, the command saves an entry. With --query it searches the entries, and with --range it lists those of a period. Without any of these it shows the last entry, the highlights of its session and open work.\n\nTo share data with other agents, use holdfast state set.",
  },
  save_checkpoint: {
    summary: "Save a research checkpoint",
    details:
      "Saves the current state of a line of research. A checkpoint is never changed; a later one can continue it. If an equal checkpoint exists, nothing is saved and its id is printed; a similar one is only reported. To save a single fact, use holdfast knowledge save.",
  },
  list_checkpoints: {
    summary: "List research checkpoints",
    details: "Lists research checkpoints, newest first, or the best matches first if you pass a query. To show one in full, use holdfast research load.",
  },
  load_checkpoint: {
    summary: "Show a research checkpoint",
    details: "Prints one research checkpoint in full.",
  },
  save_knowledge: {
    summary: "Save a note",
    details:
      "Saves a fact as a Markdown note. Saving under the same id replaces the note. A note with --skill is recalled for that skill only. Only active notes are recalled, and quarantined ones never are.",
  },
  recall_knowledge: {
    summary: "Recall notes",
    details: "Prints the notes that answer a question: the global ones, and with --skill those of that skill. Less certain matches are listed by title below them.",
  },
  resume: {
    summary: "Show what is needed to continue the work in this folder",
    details:
      "Use it after a crash, a context compaction or a hand-over. Prints what you hold and have left to do, your last journal entry, earlier decisions, finished work, changes by others and work that can be claimed, all as of one revision. Pass --agent to choose whose work counts as yours.",
  },
  sidecar_health: {
    summary: "Show whether the store works and what is in it",
    details: "Prints whether the store responds, how much it contains, and which failures an acknowledged write survives. Exits with 6 if the store does not respond.",
  },
  sidecar_reset: {
    summary: "Delete everything in a namespace, after a backup",
    details:
      "Deletes everything in the namespace. You confirm by passing the namespace's name; if it differs, nothing is deleted. If the store is a file, a backup of the namespace is written first and its path printed. holdfast health shows the namespace's name.",
  },
};

export function requireToolHelp({ name }: Tool): ToolHelp {
  const help = toolHelp[name];
  if (help === undefined) throw new Error(`Tool ${name} has no help for the command line; add it to tool-help.ts.`);
  return help;
}
