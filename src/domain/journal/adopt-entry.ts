import { invalidInput } from "../../kernel/errors.ts";
import { canonicalJson } from "../../kernel/json.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Scope } from "../../store/transact.ts";
import type { AdoptOptions, Landing } from "../adoption.ts";
import { adopt } from "../adoption.ts";
import { journalKeys } from "../keyspace.ts";
import { requireTime } from "../read-fields.ts";
import type { KnownWorkspace } from "../workspace/known-workspaces.ts";
import { knownWorkspaceRanges, rememberWorkspace } from "../workspace/known-workspaces.ts";
import { globalJournal } from "./journal.ts";
import type { EntryText } from "./journal-entry.ts";
import { entryIndex, requireEntryText, requireSessionId, toStoredEntry } from "./journal-entry.ts";
import { fromStoredHighlights, mergeHighlights, toStoredHighlights } from "./session-highlights.ts";

export interface ForeignEntry extends EntryText {
  /** Its id in the store it comes from. */
  readonly id: string;
  readonly createdAtMs: number;
  readonly sessionId: string;
  readonly gitCommit?: string;
  readonly global: boolean;
}

const idForm = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;
const commitForm = /^[0-9a-f]{4,64}$/;

/** Imports a journal entry with its original id and time. Its highlights are added to its session as if it had been saved here. */
export function adoptEntry(scope: Scope, foreign: ForeignEntry, workspace: KnownWorkspace, options: AdoptOptions): Promise<Landing> {
  const { id, createdAtMs, sessionId, global, description, highlights, activeFiles, tags, gitBranch, gitCommit, workContext } = foreign;
  if (!idForm.test(id)) throw invalidInput("id", "must be 1 to 128 letters, digits and . _ : -, beginning with a letter or digit");
  requireTime(createdAtMs, "timestamp");
  requireEntryText(foreign);
  requireSessionId(sessionId);
  if (gitCommit !== undefined && !commitForm.test(gitCommit)) throw invalidInput("gitCommit", "must be 4 to 64 hexadecimal digits");
  const journalId = global ? globalJournal : workspace.id;
  const entryKey = journalKeys.entry(id);
  const sessionKey = journalKeys.session(workspace.id, sessionId);
  const value = toStoredEntry({
    description,
    highlights,
    activeFiles,
    tags,
    gitBranch,
    gitCommit,
    workContext,
    sessionId,
    workspace: { id: workspace.id, name: workspace.name },
    global,
    createdAtMs,
  });
  return adopt(scope, options, async () => {
    const snapshot = await scope.store.read([keyRange(entryKey), ...knownWorkspaceRanges(workspace), keyRange(sessionKey)]);
    const here = snapshot.entries.find(({ key }) => key === entryKey);
    if (here !== undefined) return { landing: canonicalJson(here.value) === canonicalJson(value) ? "same" : "different" };
    const session = snapshot.entries.find(({ key }) => key === sessionKey);
    const merged = mergeHighlights(fromStoredHighlights(session), highlights, undefined, snapshot.nowMs);
    return {
      checks: [{ key: entryKey, is: "absent" }, ...(highlights.length === 0 ? [] : [{ key: sessionKey, version: session?.version ?? 0 }])],
      writes: [
        { op: "put", key: entryKey, value, index: entryIndex(journalId, foreign), record: { kind: "checkpoint", op: "save", subject: id } },
        { op: "put", key: journalKeys.listed.key(journalId, createdAtMs, id), value: null },
        ...(highlights.length === 0 ? [] : [{ op: "put" as const, key: sessionKey, value: toStoredHighlights(merged) }]),
        ...rememberWorkspace(snapshot, workspace),
      ],
    };
  });
}
