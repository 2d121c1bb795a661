/** What a command is for, by its first word, in the order in which help lists them: a newcomer reads from the top. */
export const commandAreas: readonly { readonly title: string; readonly words: readonly string[] }[] = [
  { title: "Start", words: ["install", "uninstall", "doctor", "serve", "completion"] },
  { title: "Memory", words: ["resume", "checkpoint", "journal", "knowledge", "research", "session", "workspace"] },
  { title: "Coordination", words: ["get", "set", "ls", "rm", "watch", "state", "lease", "workflow", "history", "agentcheckpoint"] },
  { title: "Operate", words: ["health", "verify", "token", "namespace", "reset", "mcp", "connect", "hook"] },
  { title: "Move data", words: ["import", "export", "backup", "restore", "migrate"] },
];

/** Where a tool's title says too little in a list of commands. */
export const commandSummaries: Readonly<Record<string, string>> = {
  checkpoint: "Save an entry in the work journal, search the journal, or show the last entry",
  resume: "Show what is needed to continue the work in this folder",
  sidecar_health: "Show whether the store works and what is in it",
  sidecar_reset: "Delete everything in a namespace, after a backup",
};
