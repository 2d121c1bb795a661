import type { JournalEntry } from "./journal-entry.ts";

/**
 * Entries that a client's hook saved and no agent wrote. They never count as anybody's last work: readers fold them into the entry
 * before them. One module writes and reads their form.
 */

/** What an automatic entry is tagged with: the hook that saved it. */
export const automaticTags = ["pre-compact", "session-end", "post-compact"] as const;
export type AutomaticTag = (typeof automaticTags)[number];

const hasTag = ({ tags }: Pick<JournalEntry, "tags">, tag: AutomaticTag): boolean => tags.includes(tag);
export const isAutomatic = (entry: Pick<JournalEntry, "tags">): boolean => automaticTags.some((tag) => hasTag(entry, tag));
/** What the client's own model made of the context when it was compacted. */
export const isSummary = (entry: Pick<JournalEntry, "tags">): boolean => hasTag(entry, "post-compact");

const commitsTitle = "Recent commits:";

/** `commits`: as `1a2b3c4 subject`, newest first. */
export const commitsText = (commits: readonly string[]): string => [commitsTitle, ...commits.map((line) => `- ${line}`)].join("\n");

/** The commits that an automatic entry lists and that came after `commit`; all of them where it is not among them. */
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
