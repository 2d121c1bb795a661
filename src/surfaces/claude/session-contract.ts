/**
 * The parts of the Claude Agent SDK's session contract that a store sees, by structure: programs that use the SDK have its package, and this one does not
 * need it. A campaign checks that the SDK accepts the store.
 */
export interface ClaudeSessionKey {
  readonly projectKey: string;
  readonly sessionId: string;
  /** Names a subagent's transcript; absent for the session's main transcript. */
  readonly subpath?: string;
}

/** One line of a transcript. Only `uuid` is read; everything else is stored and returned as it is. */
export interface ClaudeSessionEntry {
  readonly type: string;
  readonly uuid?: string;
  readonly timestamp?: string;
  readonly [member: string]: unknown;
}

export interface ClaudeSessionSummary {
  readonly sessionId: string;
  readonly mtime: number;
  /** The SDK's own state, stored and returned as it is. */
  readonly data: Record<string, unknown>;
}

/** The SDK's `foldSessionSummary`. */
export type FoldSessionSummary = (previous: ClaudeSessionSummary | undefined, key: ClaudeSessionKey, entries: ClaudeSessionEntry[]) => ClaudeSessionSummary;

export interface ClaudeSessionStore {
  append(key: ClaudeSessionKey, entries: readonly ClaudeSessionEntry[]): Promise<void>;
  load(key: ClaudeSessionKey): Promise<ClaudeSessionEntry[] | null>;
  listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]>;
  /** Present if the store was given the SDK's fold function. */
  listSessionSummaries?: (projectKey: string) => Promise<ClaudeSessionSummary[]>;
  delete(key: ClaudeSessionKey): Promise<void>;
  listSubkeys(key: { readonly projectKey: string; readonly sessionId: string }): Promise<string[]>;
}
