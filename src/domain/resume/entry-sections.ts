import { commitsSince } from "../journal/automatic-entry.ts";
import type { JournalEntry } from "../journal/journal-entry.ts";
import type { RelatedEntry } from "../journal/related-entries.ts";
import { onOneLine, plainName, quotedInline, quoteMark } from "../stored-text.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type { JournalPicture } from "./journal-picture.ts";
import type { PackItem, PackSection } from "./resume-pack.ts";
import { storedLines } from "./stored-lines.ts";
import { agoText, clockText } from "./time-text.ts";

const shownMax = { description: 4_000, context: 4_000, line: 240, highlight: 240, files: 400, summary: 4_000, name: 60 } as const;

const authorOf = ({ agent, writer }: JournalEntry): string => agent ?? writer;

export interface EntryReading {
  readonly nowMs: number;
  /** The reader already has the summary of its compacted context. */
  readonly isCompacted: boolean;
  /** The heading already lists the uncommitted files. */
  readonly knowsFiles: boolean;
}

/** The entry to continue from, in full if it fits, with the changes that hooks recorded since. */
export function lastEntry(
  { last, isOwn, sinceThen, summary }: JournalPicture,
  { branch, id, formerIds }: Workspace,
  { nowMs, isCompacted, knowsFiles }: EntryReading,
): PackSection {
  if (last === undefined)
    return sinceThen === undefined && summary === undefined
      ? { items: [] }
      : { title: "Saved by hooks", items: sinceItems(undefined, sinceThen, isCompacted ? undefined : summary, knowsFiles) };
  const elsewhere = [id, ...formerIds].includes(last.workspace.id) ? "" : `, saved for every workspace in ${plainName(last.workspace.name)}`;
  const title = isOwn
    ? `Your last entry, ${agoText(last.createdAtMs, nowMs)}`
    : `Last entry here, by ${plainName(authorOf(last))}, ${agoText(last.createdAtMs, nowMs)}${elsewhere}`;
  const line = (text: string, tier: number): PackItem => ({ lines: [`${quoteMark}${text}`], tier });
  return {
    title,
    items: [
      { counts: "journal", lines: storedLines(last.description, shownMax.description), tier: 0, share: 0.4 },
      ...(last.workContext === undefined ? [] : [{ lines: storedLines(last.workContext, shownMax.context), tier: 2, share: 0.15 }]),
      ...(last.gitBranch === undefined || last.gitBranch === branch
        ? []
        : [line(`branch: ${onOneLine(last.gitBranch, shownMax.line)}${last.gitCommit === undefined ? "" : ` @ ${last.gitCommit.slice(0, 7)}`}`, 2)]),
      ...(last.activeFiles.length === 0 ? [] : [line(`files: ${onOneLine(last.activeFiles.join(", "), shownMax.files)}`, 2)]),
      ...sinceItems(last, sinceThen, isCompacted ? undefined : summary, knowsFiles),
    ],
  };
}

/** The files are as of when the hook ran, so they are left out if the heading lists the currently uncommitted ones. */
function sinceItems(last: JournalEntry | undefined, sinceThen: JournalEntry | undefined, summary: JournalEntry | undefined, knowsFiles: boolean): readonly PackItem[] {
  const commits = sinceThen === undefined ? [] : commitsSince(sinceThen, last?.gitCommit);
  const files = knowsFiles ? [] : (sinceThen?.activeFiles ?? []);
  const parts = [
    ...(commits.length === 0 ? [] : [`${commits.length} ${commits.length === 1 ? "commit" : "commits"} (${onOneLine(commits.join("; "), shownMax.files)})`]),
    ...(files.length === 0 ? [] : [`${files.length} changed ${files.length === 1 ? "file" : "files"} (${onOneLine(files.join(", "), shownMax.files)})`]),
  ];
  return [
    ...(parts.length === 0 ? [] : [{ counts: "hooks", lines: [`${quoteMark}since then: ${parts.join(", ")}`], tier: 1 }]),
    ...(summary?.workContext === undefined
      ? []
      : [{ counts: "hooks", lines: storedLines(`summary when it was compacted: ${summary.workContext}`, shownMax.summary), tier: 3, share: 0.2 }]),
  ];
}

/** The highlights of `last`, the entry to continue from, come first. */
export function highlightLines({ highlights }: JournalPicture): PackSection {
  return {
    title: "Decisions and traps here, newest first",
    items: highlights.map((text, i) => ({ counts: "highlights", lines: [`${quoteMark}- ${onOneLine(text, shownMax.highlight)}`], tier: i < 4 ? 1 : i < 8 ? 3 : 5 })),
    leftOut: (count) => `${count} more.`,
  };
}

/** One line per entry, or the full text if there is room. */
export function earlierEntries({ earlier, last, isOwn, agent }: JournalPicture, isTold: (entry: JournalEntry) => boolean, nowMs: number): PackSection {
  const isMine = (entry: JournalEntry): boolean => isOwn && (entry.sessionId === last?.sessionId || (agent !== undefined && entry.agent === agent));
  const items = earlier
    .filter((entry) => !isTold(entry))
    .map((entry, i): PackItem => {
      const head = `${quoteMark}${clockText(entry.createdAtMs, nowMs)} ${isMine(entry) ? "you" : onOneLine(authorOf(entry), shownMax.name)}: `;
      const [first = quoteMark, ...rest] = storedLines(entry.description, shownMax.description);
      const context = entry.workContext === undefined ? [] : storedLines(entry.workContext, shownMax.context);
      const files = entry.activeFiles.length === 0 ? [] : [`${quoteMark}files: ${onOneLine(entry.activeFiles.join(", "), shownMax.files)}`];
      const isWhole = rest.length === 0 && context.length === 0 && files.length === 0 && entry.description.length <= shownMax.line;
      return {
        counts: "journal",
        lines: [`${head}${onOneLine(entry.description, shownMax.line)}`],
        tier: i < 3 ? 2 : i < 8 ? 4 : 6,
        ...(isWhole ? {} : { atLength: [`${head}${first.slice(quoteMark.length)}`, ...rest, ...context, ...files] }),
      };
    });
  return { title: "Earlier in this workspace, newest first", items, leftOut: (count) => `${count} more (checkpoint with range lists them).` };
}

/** Entries that were saved for every workspace from elsewhere. */
export function newsLines({ news, last }: JournalPicture): PackSection {
  const after = news.filter((entry) => last === undefined || entry.createdAtMs >= last.createdAtMs);
  return {
    title: "Saved for every workspace since",
    items: after.map((entry) => ({
      counts: "news",
      lines: [`${quoteMark}- from ${onOneLine(entry.workspace.name, shownMax.name)}: ${onOneLine(entry.description, shownMax.line)}`],
      tier: 4,
    })),
  };
}

/** Journal entries that answer the query. */
export const answerLines = (answers: readonly JournalEntry[], nowMs: number): readonly PackItem[] =>
  answers.map((entry, i) => {
    const [first = quoteMark, ...rest] = storedLines(entry.description, shownMax.description);
    return {
      counts: "journal",
      lines: [`${quoteMark}${clockText(entry.createdAtMs, nowMs)} ${onOneLine(authorOf(entry), shownMax.name)}: ${first.slice(quoteMark.length)}`, ...rest],
      tier: i === 0 ? 1 : 3,
      share: 0.25,
    };
  });

/** One line per entry related to the first answer. */
export const relatedLines = (related: readonly RelatedEntry[], nowMs: number): readonly PackItem[] =>
  related.map(({ entry, why }) => ({
    counts: "journal",
    lines: [
      `${quoteMark}related (${onOneLine(why, shownMax.name)}), ${clockText(entry.createdAtMs, nowMs)} ${onOneLine(authorOf(entry), shownMax.name)}: ${onOneLine(entry.description, shownMax.line)}`,
    ],
    tier: 3,
  }));

export const aboutTitle = (query: string): string => `About ${quotedInline(query, 100)}`;
