/** The sections of the command list, by first word, ordered for a newcomer who reads from the top. */
export const commandAreas: readonly { readonly title: string; readonly words: readonly string[] }[] = [
  { title: "Start", words: ["install", "uninstall", "doctor", "serve", "completion"] },
  { title: "Memory", words: ["resume", "checkpoint", "journal", "knowledge", "research", "session", "workspace"] },
  { title: "Coordination", words: ["get", "set", "ls", "rm", "watch", "state", "lease", "workflow", "effect", "effects", "history", "agentcheckpoint"] },
  { title: "Operate", words: ["health", "verify", "token", "namespace", "reset", "mcp", "connect", "proxy", "hook"] },
  { title: "Move data", words: ["import", "export", "backup", "restore", "migrate"] },
];
