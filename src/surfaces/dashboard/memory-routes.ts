import * as z from "zod";
import { readPastVersions } from "../../domain/history/key-versions.ts";
import type { EntryPage } from "../../domain/journal/find-entries.ts";
import { listAllEntries, listEntries, readEntry, readNeighbours } from "../../domain/journal/find-entries.ts";
import type { JournalEntry } from "../../domain/journal/journal-entry.ts";
import { knowledgeKeys } from "../../domain/keyspace.ts";
import { changeNote } from "../../domain/knowledge/change-note.ts";
import { readNote } from "../../domain/knowledge/knowledge.ts";
import { listNotes } from "../../domain/knowledge/list-notes.ts";
import type { Note } from "../../domain/knowledge/note.ts";
import { fullName, requireFullName, statuses, trustLevels } from "../../domain/knowledge/note.ts";
import { noteTitle } from "../../domain/knowledge/note-title.ts";
import { mirrorNote } from "../../domain/mirror/mirror.ts";
import type { ResearchCheckpoint } from "../../domain/research/checkpoint.ts";
import { readCheckpoint } from "../../domain/research/checkpoints.ts";
import { listCheckpoints } from "../../domain/research/list-checkpoints.ts";
import { listKnownWorkspaces } from "../../domain/workspace/known-workspaces.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import { limits } from "../../store/limits.ts";
import { fromCursor, toCursor } from "../../tools/cursor.ts";
import { text as bodyText } from "../../tools/fields.ts";
import type { JournalPage, JournalRow, NoteChanged, NoteRow, NotesPage, NoteView, ResearchAnswer, ResearchPage } from "./api.ts";
import type { ApiRoute } from "./api-route.ts";
import { toVersionView } from "./key-routes.ts";
import { readBody } from "./read-body.ts";
import { oneOf, pageSize, readQuery, requiredText, text } from "./read-query.ts";

const cursorBytesMax = 2_048;
const workspacesMax = 500;

const journal: ApiRoute = {
  method: "GET",
  path: "/api/ns/:namespace/journal",
  needs: "read",
  async handle({ base, query }) {
    const { id, workspace, before, limit, ...filter } = readQuery(query, {
      workspace: text(limits.keyBytesMax),
      who: text(limits.keyBytesMax),
      tag: text(limits.keyBytesMax),
      q: text(filterBytesMax),
      before: text(cursorBytesMax),
      limit: pageSize({ default: 30, max: 50 }),
      id: text(limits.keyBytesMax),
    });
    const { workspaces } = await listKnownWorkspaces(base.store, workspacesMax);
    const named = workspaces.map(({ id: each, name }) => ({ id: each, name }));
    if (id !== undefined) {
      const entry = await readEntry(base, id);
      if (entry === undefined) throw new HoldfastError("not_found", `There is no journal entry ${JSON.stringify(id)}.`, { details: { id } });
      const { older, newer } = await readNeighbours(base, entry);
      const one: JournalPage = { entries: [toJournalRow(entry)], workspaces: named, ...(older === undefined ? {} : { older }), ...(newer === undefined ? {} : { newer }) };
      return { json: one };
    }
    // A position in one list is meaningless in another.
    const list = `journal ${workspace ?? ""}`;
    const read = (count: number, position: string | undefined) =>
      workspace === undefined
        ? listAllEntries(base, { workspaceIds: named.map((each) => each.id), limit: count, before: position })
        : listEntries(base, { workspace: { id: workspace, name: workspace, formerIds: [] }, limit: count, before: position });
    const { entries, next } = await findEntries(read, { limit, before: before === undefined ? undefined : fromCursor(list, before), ...filter });
    const page: JournalPage = { entries: entries.map(toJournalRow), workspaces: named, ...(next === undefined ? {} : { next: toCursor(list, next) }) };
    return { json: page };
  },
};

const filterBytesMax = 256;
/** A filter that matches few entries must not make one request read a whole journal. */
const filterScannedMax = 500;

interface EntryFilter {
  readonly limit: number;
  readonly before?: string;
  readonly who?: string;
  readonly tag?: string;
  readonly q?: string;
}

/** Reads until enough entries match, the journal ends, or the scan limit is reached. `next` is the position of the last entry read. */
async function findEntries(
  read: (count: number, position: string | undefined) => Promise<Omit<EntryPage, "revision">>,
  { limit, before, ...filter }: EntryFilter,
): Promise<Omit<EntryPage, "revision">> {
  if (Object.values(filter).every((value) => value === undefined)) return read(limit, before);
  const found: JournalEntry[] = [];
  let next = before;
  for (let scanned = 0; scanned < filterScannedMax; scanned += limit) {
    // Reads no more than are still needed: the next page would skip any surplus.
    const page = await read(limit - found.length, next);
    found.push(...page.entries.filter((entry) => fits(entry, filter)));
    next = page.next;
    if (next === undefined || found.length === limit) break;
  }
  return { entries: found, next };
}

function fits(
  { writer, agent, tags, description, workContext = "", highlights, activeFiles, gitBranch = "" }: JournalEntry,
  { who, tag, q }: Pick<EntryFilter, "who" | "tag" | "q">,
): boolean {
  const wanted = q?.toLowerCase();
  return (
    (who === undefined || writer === who || agent === who) &&
    (tag === undefined || tags.includes(tag)) &&
    (wanted === undefined || [description, workContext, gitBranch, ...highlights, ...activeFiles].some((each) => each.toLowerCase().includes(wanted)))
  );
}

const toJournalRow = (entry: JournalEntry): JournalRow => ({
  id: entry.id,
  atMs: entry.createdAtMs,
  workspace: entry.workspace.name,
  text: entry.description,
  ...(entry.workContext === undefined ? {} : { context: entry.workContext }),
  ...(entry.global ? { global: true } : {}),
  highlights: entry.highlights,
  ...(entry.gitBranch === undefined ? {} : { branch: entry.gitBranch }),
  ...(entry.gitCommit === undefined ? {} : { commit: entry.gitCommit }),
  session: entry.sessionId,
  files: entry.activeFiles,
  tags: entry.tags,
  writer: entry.writer,
  ...(entry.agent === undefined ? {} : { agent: entry.agent }),
});

const notes: ApiRoute = {
  method: "GET",
  path: "/api/ns/:namespace/notes",
  needs: "read",
  async handle({ base, query }) {
    const { status, cursor, limit } = readQuery(query, { status: oneOf(statuses), cursor: text(cursorBytesMax), limit: pageSize({ default: 50, max: 100 }) });
    const found = await listNotes(base, { status, limit, after: cursor === undefined ? undefined : fromCursor("notes", cursor) });
    const page: NotesPage = { notes: found.notes.map(toNoteRow), ...(found.next === undefined ? {} : { next: toCursor("notes", found.next) }) };
    return { json: page };
  },
};

const note: ApiRoute = {
  method: "GET",
  path: "/api/ns/:namespace/note",
  needs: "read",
  async handle({ base, query }) {
    const { name } = readQuery(query, { name: requiredText(limits.keyBytesMax) });
    requireFullName(name, "name");
    const [found, past] = await Promise.all([readNote(base, name), readPastVersions(base, knowledgeKeys.note(name), { limit: 50 })]);
    if (found === undefined) throw new HoldfastError("not_found", `There is no note ${JSON.stringify(name)}.`, { details: { name } });
    const view: NoteView = { note: toNoteRow(found), versions: past.versions.map(toVersionView), more: past.more };
    return { json: view };
  },
};

const toNoteRow = ({ id, skill, content, keywords, status, trust, source, supersedes, supersededBy, version, savedAtMs, writer, agent }: Note): NoteRow => ({
  name: fullName(id, skill),
  id,
  title: noteTitle({ content, id }),
  status,
  trust,
  ...(skill === undefined ? {} : { skill }),
  ...(source === undefined ? {} : { source }),
  content,
  keywords,
  ...(supersedes === undefined ? {} : { supersedes }),
  ...(supersededBy === undefined ? {} : { supersededBy }),
  version,
  updatedAtMs: savedAtMs,
  writer,
  ...(agent === undefined ? {} : { agent }),
});

const noteChange = z.strictObject({
  name: bodyText,
  version: z.int().min(1),
  content: bodyText.optional(),
  keywords: z.array(bodyText).optional(),
  source: bodyText.optional(),
  status: z.enum(statuses).optional(),
  trust: z.enum(trustLevels).optional(),
});

const changeTheNote: ApiRoute = {
  method: "POST",
  path: "/api/ns/:namespace/notes/change",
  needs: "write",
  async handle(request) {
    const { base } = request;
    readQuery(request.query, {});
    const change = await readBody(request, "notes/change", noteChange);
    const { version } = await changeNote(base, change);
    await mirrorNote(base, base.server.mirror, change.name);
    const answer: NoteChanged = { name: change.name, version };
    return { json: answer };
  },
};

const research: ApiRoute = {
  method: "GET",
  path: "/api/ns/:namespace/research",
  needs: "read",
  async handle({ base, query }) {
    const { cursor, limit } = readQuery(query, { cursor: text(cursorBytesMax), limit: pageSize({ default: 30, max: 50 }) });
    const found = await listCheckpoints(base, { limit, after: cursor === undefined ? undefined : fromCursor("research", cursor) });
    const checkpoints: ResearchPage["checkpoints"][number][] = [];
    // The list has only the beginning of the thesis; the question is in the checkpoint. Read one at a time, because each may be large.
    for (const { id, savedAtMs, confidence, thesis } of found.checkpoints) {
      const whole = await readCheckpoint(base, id);
      checkpoints.push({ id, atMs: savedAtMs, question: whole?.coreQuestion ?? "", thesis: whole?.thesis ?? thesis, confidence });
    }
    const page: ResearchPage = { checkpoints, ...(found.next === undefined ? {} : { next: toCursor("research", found.next) }) };
    return { json: page };
  },
};

const checkpoint: ApiRoute = {
  method: "GET",
  path: "/api/ns/:namespace/checkpoint",
  needs: "read",
  async handle({ base, query }) {
    const { id } = readQuery(query, { id: requiredText(limits.keyBytesMax) });
    const found = await readCheckpoint(base, id);
    if (found === undefined) throw new HoldfastError("not_found", `There is no research checkpoint ${JSON.stringify(id)}.`, { details: { id } });
    return { json: toResearchView(found) };
  },
};

const toResearchView = ({ id, savedAtMs, coreQuestion, uniqueContributions, ...rest }: ResearchCheckpoint): ResearchAnswer => ({
  ...rest,
  id,
  atMs: savedAtMs,
  question: coreQuestion,
  contributions: uniqueContributions,
});

export const memoryRoutes: readonly ApiRoute[] = [journal, notes, note, changeTheNote, research, checkpoint];
