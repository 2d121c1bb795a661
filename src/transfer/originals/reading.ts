import type { ForeignEntry } from "../../domain/journal/adopt-entry.ts";
import type { ForeignNote } from "../../domain/knowledge/adopt-note.ts";
import type { ForeignCheckpoint } from "../../domain/research/adopt-checkpoint.ts";
import type { ForeignSession } from "../../domain/sessions/adopt-session.ts";
import type { ForeignState } from "../../domain/state/adopt-state.ts";
import type { ForeignRun } from "../../domain/workflows/adopt-run.ts";

export const sourceNames = ["agentcheckpoint", "sidecar", "goldfish", "sage", "mirror"] as const;
export type SourceName = (typeof sourceNames)[number];

/** One record that was found, in the form of its kind's domain module. */
export type Found =
  | { readonly kind: "state"; readonly state: ForeignState }
  | { readonly kind: "run"; readonly run: ForeignRun }
  | { readonly kind: "session"; readonly session: ForeignSession }
  | { readonly kind: "journal entry"; readonly entry: ForeignEntry /** Goldfish identifies workspaces only by name. */; readonly workspaceName: string }
  | { readonly kind: "research checkpoint"; readonly checkpoint: ForeignCheckpoint }
  | { readonly kind: "note"; readonly note: ForeignNote };

export type FoundRecord = Found & {
  /** The file or row it came from, for the report. */
  readonly where: string;
  /** The author in the source; becomes the agent label next to the importing writer. */
  readonly author?: string;
  /** What had to be changed to fit here, and into what. */
  readonly adjusted?: readonly string[];
};

export interface Problem {
  readonly where: string;
  readonly reason: string;
}

/** Kinds of things that are deliberately not imported. */
export interface LeftBehind {
  readonly what: string;
  readonly count: number;
  readonly reason: string;
}

/** Everything a source contains; nothing is skipped silently. */
export interface Reading {
  readonly source: SourceName;
  readonly records: readonly FoundRecord[];
  readonly problems: readonly Problem[];
  readonly leftBehind: readonly LeftBehind[];
  /** The project that the files belong to, if they are inside it. */
  readonly project?: { readonly folder: string; readonly workspaceName: string };
}

export const idOf = (found: Found): string => {
  switch (found.kind) {
    case "state":
      return found.state.key;
    case "run":
      return found.run.runId;
    case "session":
      return found.session.sessionId;
    case "journal entry":
      return found.entry.id;
    case "research checkpoint":
      return found.checkpoint.id;
    case "note":
      return found.note.skill === undefined ? found.note.id : `@${found.note.skill}/${found.note.id}`;
  }
};
