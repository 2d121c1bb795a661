import type { JournalEntry } from "./journal-entry.ts";

/**
 * Automatic entries are saved by a client's hook, not written by an agent. They never count as an agent's last work: readers show them as part of the
 * entry before them. Only this module knows their format.
 */

/** The tag of an automatic entry names the hook that saved it. */
export const automaticTags = ["pre-compact", "session-end", "post-compact"] as const;
export type AutomaticTag = (typeof automaticTags)[number];

const hasTag = ({ tags }: Pick<JournalEntry, "tags">, tag: AutomaticTag): boolean => tags.includes(tag);
export const isAutomatic = (entry: Pick<JournalEntry, "tags">): boolean => automaticTags.some((tag) => hasTag(entry, tag));
/** True for the client model's summary of its context, saved after a compaction. */
export const isSummary = (entry: Pick<JournalEntry, "tags">): boolean => hasTag(entry, "post-compact");

const commitsTitle = "Recent commits:";

/** `commits` are lines such as `1a2b3c4 subject`, newest first. */
export const commitsText = (commits: readonly string[]): string => [commitsTitle, ...commits.map((line) => `- ${line}`)].join("\n");

/** The commits in an automatic entry that came after `commit`; all of them if `commit` is not listed. */
export function commitsSince({ workContext = "" }: Pick<JournalEntry, "workContext">, commit: string | undefined): readonly string[] {
  const lines = workContext.split("\n");
  const start = lines.indexOf(commitsTitle);
  if (start === -1) return [];
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => !line.startsWith("- "));
  const commits = (end === -1 ? rest : rest.slice(0, end)).map((line) => line.slice(2));
  const known = commits.findIndex((line) => commit?.startsWith(line.split(" ")[0] as string) === true);
  return known === -1 ? commits : commits.slice(0, known);
}
