import { createHash } from "node:crypto";
import { invalidInput } from "../../kernel/errors.ts";
import type { ClaudeSessionKey } from "./session-contract.ts";

const nameCharactersMax = 1_024;
/** Longer parts of a key are replaced by their digest, so that every key stays within the store's limit. */
const partCharactersMax = 100;

/** The state keys of one session. The Python client uses the same ones: hosts in both languages share sessions. */
export interface SessionKeys {
  readonly projectKey: string;
  readonly sessionId: string;
  /** The lease on the session. */
  readonly resource: string;
  /** Names the store that last began to work on the session. */
  readonly owner: string;
  /** Prefix of the heads of subagents' transcripts. */
  readonly subheads: string;
  /** Prefix of the text of all transcripts. */
  readonly chunks: string;
}

export interface TranscriptKeys {
  readonly head: string;
  readonly subpath?: string;
  readonly chunk: (generation: string, index: number) => string;
}

/** Prefix of the heads of main transcripts. */
export const mainHeads = (projectKey: string): string => `claude/session/${keyPart("projectKey", projectKey)}/`;

export function sessionKeysOf({ projectKey, sessionId }: ClaudeSessionKey): SessionKeys {
  const path = `${keyPart("projectKey", projectKey)}/${keyPart("sessionId", sessionId)}`;
  return { projectKey, sessionId, resource: `claude/${path}`, owner: `claude/owner/${path}`, subheads: `claude/subagent/${path}/`, chunks: `claude/chunk/${path}/` };
}

export function transcriptKeysOf(session: SessionKeys, subpath: string | undefined): TranscriptKeys {
  // No encoded name is a single tilde, so the main transcript cannot be confused with a subagent's.
  const part = subpath === undefined ? "~" : keyPart("subpath", subpath);
  return {
    head: subpath === undefined ? mainHeads(session.projectKey) + keyPart("sessionId", session.sessionId) : session.subheads + part,
    subpath,
    chunk: (generation, index) => `${session.chunks}${part}/${generation}/${String(index).padStart(8, "0")}`,
  };
}

function keyPart(field: string, name: unknown): string {
  if (typeof name !== "string" || name === "" || name.length > nameCharactersMax || !name.isWellFormed())
    throw invalidInput(field, `must be a non-empty string of at most ${nameCharactersMax} characters, without lone surrogates`);
  const readable = encodeURIComponent(name).replaceAll("~", "%7E");
  return readable.length <= partCharactersMax ? readable : `~${createHash("sha256").update(name).digest("hex").slice(0, 40)}`;
}
