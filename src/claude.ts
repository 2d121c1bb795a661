/** A session store for the Claude Agent SDK on a Holdfast store, embedded or remote. */

export type { ClaudeSessionEntry, ClaudeSessionKey, ClaudeSessionStore, ClaudeSessionSummary, FoldSessionSummary } from "./surfaces/claude/session-contract.ts";
export { HoldfastSessionStore, type SessionStoreOptions } from "./surfaces/claude/session-store.ts";
