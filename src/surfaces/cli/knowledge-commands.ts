import { changeNote } from "../../domain/knowledge/change-note.ts";
import { readNote } from "../../domain/knowledge/knowledge.ts";
import { listNotes } from "../../domain/knowledge/list-notes.ts";
import type { Note, NoteStatus } from "../../domain/knowledge/note.ts";
import { statuses } from "../../domain/knowledge/note.ts";
import { noteTitle } from "../../domain/knowledge/note-title.ts";
import { mirrorNote } from "../../domain/mirror/mirror.ts";
import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { fromCursor, listOf, toCursor } from "../../tools/cursor.ts";
import { noteAnswer } from "../../tools/stored-records.ts";
import type { CliRuntime, Command, Invocation } from "./command.ts";
import { exitCodes } from "./command.ts";
import { listCommand } from "./list-command.ts";
import { renderResult } from "./render-result.ts";
import { safeText, styleFor } from "./terminal-text.ts";

const nameMeaning = { name: "id", meaning: "The note's id as knowledge list shows it: @SKILL/ID for a note of a skill." } as const;

const knowledgeListCommand = listCommand({
  path: ["knowledge", "list"],
  summary: "List notes of every status, by id",
  details: "Notes of a skill are listed as @SKILL/ID. Only active notes are recalled, and quarantined ones never.",
  operand: "prefix",
  operandMeanings: [{ name: "prefix", meaning: "Only ids that begin with this text." }],
  filters: [{ name: "status", takes: "STATUS", choices: statuses, meaning: `Only notes of this status: ${statuses.join(", ")}.` }],
  examples: ["holdfast knowledge list", "holdfast knowledge list api --status deprecated"],
  async read({ base }, { limit, cursor, filter }) {
    const list = listOf("notes", filter);
    const { notes, next } = await listNotes(base, {
      prefix: filter.prefix,
      status: filter.status as NoteStatus | undefined,
      limit,
      after: cursor === undefined ? undefined : fromCursor(list, cursor),
    });
    return { notes: notes.map(toRow), cursor: next === undefined ? null : toCursor(list, next) };
  },
});

/** Contents may be long, so a list shows titles. */
function toRow(note: Note) {
  const { content, ...answer } = noteAnswer(note);
  return { ...answer, title: noteTitle(note) };
}

const knowledgeShowCommand: Command = {
  path: ["knowledge", "show"],
  summary: "Show one note whole, whatever its status",
  operands: "<id>",
  operandMeanings: [nameMeaning],
  flags: [],
  examples: ["holdfast knowledge show api-limits", "holdfast knowledge show @shipping/limits --json"],
  async run({ host, flags, words, json }) {
    const name = nameIn(words);
    await using runtime = await host.open(flags, { onlyLooks: true });
    const { content, ...facts } = noteAnswer(await requireNote(runtime, name));
    if (json) host.stdout.write(`${JSON.stringify({ ...facts, content })}\n`);
    else {
      const { id: _, keywords, questions, ...rest } = facts;
      const lists = { ...(keywords.length === 0 ? {} : { keywords: keywords.join(", ") }), ...(questions.length === 0 ? {} : { questions: questions.join("\n") }) };
      const style = styleFor(host.stdout, runtime.config.colourAllowed, runtime.base.clock.nowMs());
      host.stdout.write(`${renderResult({ ...rest, ...lists }, style)}\n${safeText(content, { keepLines: true }).replace(/\n$/, "")}\n`);
    }
    return exitCodes.ok;
  },
};

const knowledgeDeprecateCommand: Command = {
  path: ["knowledge", "deprecate"],
  summary: "Deprecate a note, so that it is kept but no longer recalled",
  details: "To replace a note, save the new one with --supersedes instead. Saving the note again makes it active.",
  operands: "<id>",
  operandMeanings: [nameMeaning],
  flags: [],
  examples: ["holdfast knowledge deprecate api-limits", "holdfast knowledge deprecate @shipping/limits --json"],
  async run({ host, flags, words, json }) {
    const name = nameIn(words);
    await using runtime = await host.open(flags, { onlyLooks: true });
    const { base, config } = runtime;
    if (config.readOnly) throw new HoldfastError("read_only", "knowledge deprecate changes the store, and this command was started read-only.");
    const before = await requireNote(runtime, name);
    const { version } = await changeNote({ ...base, agent: config.agent }, { name, status: "deprecated" });
    const mirrored = await mirrorNote(base, base.server.mirror, name);
    if (json) host.stdout.write(`${JSON.stringify({ name, status: "deprecated", version, ...mirrored })}\n`);
    else {
      host.stdout.write(before.status === "deprecated" ? `Note ${shown(name)} was deprecated already.\n` : `Note ${shown(name)} is deprecated (version ${version}).\n`);
      if ("warning" in mirrored) host.stderr.write(`holdfast: ${safeText(String(mirrored.warning))}\n`);
    }
    return exitCodes.ok;
  },
};

const shown = (name: string): string => safeText(JSON.stringify(name));

function nameIn(words: Invocation["words"]): string {
  const [name, ...others] = words;
  if (name === undefined || others.length > 0) throw invalidInput("<id>", "must be the id of one note");
  return name;
}

async function requireNote({ base }: CliRuntime, name: string): Promise<Note> {
  const note = await readNote(base, name);
  if (note === undefined)
    throw new HoldfastError("not_found", `There is no note ${JSON.stringify(name)}.`, { hint: "holdfast knowledge list shows the notes.", details: { name } });
  return note;
}

export const knowledgeCommands: readonly Command[] = [knowledgeListCommand, knowledgeShowCommand, knowledgeDeprecateCommand];
