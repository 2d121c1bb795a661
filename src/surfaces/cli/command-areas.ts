/** The sections of the list of commands, by first word. A newcomer reads from the top. */
export const commandAreas: readonly { readonly title: string; readonly words: readonly string[] }[] = [
  { title: "Start", words: ["install", "uninstall", "doctor", "serve", "completion"] },
  { title: "Memory", words: ["resume", "checkpoint", "journal", "knowledge", "research", "session", "workspace"] },
  { title: "Coordination", words: ["get", "set", "ls", "rm", "watch", "state", "lease", "workflow", "history", "agentcheckpoint"] },
  { title: "Operate", words: ["health", "verify", "token", "namespace", "reset", "mcp", "connect", "hook"] },
  { title: "Move data", words: ["import", "export", "backup", "restore", "migrate"] },
];
