import type { Entry, Revision } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { researchKeys, stateKeys } from "../keyspace.ts";
import { fullName, toNoteContent } from "../knowledge/note.ts";
import { toResearch } from "../research/checkpoint.ts";
import { onOneLine, plainName, quoteMark } from "../stored-text.ts";
import type { RepositoryState } from "../workspace/repository-state.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { unknownSection } from "./effects-picture.ts";
import { aboutTitle, answerLines, earlierEntries, highlightLines, lastEntry, newsLines, relatedLines } from "./entry-sections.ts";
import type { Caller } from "./journal-picture.ts";
import type { Picture } from "./picture.ts";
import { drawPicture } from "./picture.ts";
import type { Pack, PackItem, PackSection } from "./resume-pack.ts";
import { makePack } from "./resume-pack.ts";
import { storedLines } from "./stored-lines.ts";
import { agoText } from "./time-text.ts";
import type { WorkRun } from "./work-picture.ts";
import { finishedWork, freeWork, holdingText, othersWork, ownWork } from "./work-sections.ts";

export interface ResumeInput extends Partial<Caller> {
  readonly workspace: Workspace;
  /** The last revision that the caller saw; by default that of its last journal entry. */
  readonly sinceRevision?: Revision;
  /** The subject of the work, by which notes, journal and research are searched. Without it, only notes are searched, by the last entry. */
  readonly query?: string;
  /** Other wordings of the query. */
  readonly also?: readonly string[];
  readonly skill?: string;
  readonly tokensMax: number;
  /** True for a run that was claimed on the caller's connection with this token. */
  readonly claimedHere?: (runId: string, token: Revision) => boolean;
  /** The workspace's git state, which is read concurrently. */
  readonly repository?: Promise<RepositoryState | undefined>;
  /** The caller already has a summary of its compacted context. */
  readonly isCompacted?: boolean;
}
export interface Resume extends Pack {
  readonly revision: Revision;
}

const shownMax = { name: 60, files: 8, file: 80, value: 160, line: 240, keys: 8, changes: 30, openQuestions: 5 } as const;
const headShare = 0.2;
const dayMs = 86_400_000;

/** Everything an agent needs to continue after a crash, a compaction or a hand-over, within a token budget: its current work, finished work and next steps. */
export async function readResume({ store }: Pick<Scope, "store">, input: ResumeInput): Promise<Resume> {
  const { workspace, sinceRevision, query, isCompacted = false, tokensMax } = input;
  const [picture, repository] = await Promise.all([
    drawPicture(store, { ...input, sessions: input.sessions ?? [], claimedHere: input.claimedHere ?? (() => false) }),
    input.repository?.catch(() => undefined),
  ]);
  const { journal, work, revision, nowMs, since } = picture;
  // Uncommitted files may use this much of the budget, and held runs and leases the same amount.
  const bytesMax = tokensMax * 4 * headShare;
  const holding = holdingText(work, nowMs, bytesMax);
  const head = [
    `# ${plainName(workspace.name, shownMax.name)}${placeText(workspace, repository, bytesMax)}, revision ${revision}`,
    ...(picture.agent === undefined && holding === undefined
      ? []
      : [[picture.agent === undefined ? [] : [`You are ${plainName(picture.agent, shownMax.name)}.`], holding ?? []].flat().join(" ")]),
    ...(workspace.hint === undefined ? [] : [workspace.hint]),
    ...(journal.last === undefined ? ["Nothing has been written into the journal here."] : []),
    ...(sinceRevision !== undefined && sinceRevision > revision
      ? [`You saw revision ${sinceRevision}, which this store does not have: it was restored from a backup, or is another one.`]
      : []),
  ];
  const related = picture.related.filter(({ entry }) => entry.id !== journal.last?.id);
  const answered = new Set([...picture.answers, ...related.map(({ entry }) => entry)].map(({ id }) => id));
  const isNews = (run: WorkRun): boolean => since === undefined || run.revision > since || nowMs - run.changedAtMs < dayMs;
  const others = othersWork(work);
  const sections: PackSection[] = [
    unknownSection(picture.unknownEffects, nowMs),
    ...ownWork(work, { detailsOf: picture.detailsOf, nowMs }),
    lastEntry(journal, workspace, { nowMs, isCompacted, knowsFiles: repository?.changedFiles !== undefined }),
    ...(query === undefined
      ? []
      : [
          {
            title: aboutTitle(query),
            items: [
              ...answerLines(
                picture.answers.filter(({ id }) => id !== journal.last?.id),
                nowMs,
              ),
              ...relatedLines(related, nowMs),
              ...noteItems(picture, 2),
              ...researchItems(picture, 2),
            ],
          },
        ]),
    highlightLines(journal),
    finishedWork(work, isNews),
    earlierEntries(journal, ({ id }) => answered.has(id), nowMs),
    newsLines(journal),
    { title: "Related", items: [...keyItems(picture), ...(query === undefined ? [...noteItems(picture, 3), ...researchItems(picture, 4)] : [])] },
    changesSection(picture, sinceRevision),
    freeWork(work, { detailsOf: picture.detailsOf, nowMs }),
    others,
  ];
  const pack = makePack(head, sections, tokensMax);
  return { ...pack, shown: { ...pack.shown, leases: work.leases.length + (pack.shown.others === undefined ? 0 : others.leases) }, revision };
}

/** ` (main @ cd23c07, 1 uncommitted: src/cli.js +9 −0)`. */
function placeText({ branch, commit }: Workspace, repository: RepositoryState | undefined, bytesMax: number): string {
  const changed = repository?.changedFiles ?? [];
  const lines = (path: string): string => {
    const counted = repository?.lines?.get(path);
    return counted === undefined ? "" : ` +${counted.added} −${counted.removed}`;
  };
  const files = changed
    .slice(0, shownMax.files)
    .map((path) => `${plainName(path.toWellFormed(), shownMax.file)}${lines(path)}`)
    .filter((_, i, all) => Buffer.byteLength(all.slice(0, i + 1).join(", ")) <= bytesMax);
  const rest = changed.length - files.length;
  const parts = [
    ...(branch === undefined && commit === undefined
      ? []
      : [[branch === undefined ? "detached" : plainName(branch, shownMax.name), ...(commit === undefined ? [] : [commit.slice(0, 7)])].join(" @ ")]),
    ...(changed.length === 0 ? [] : [`${changed.length} uncommitted${files.length === 0 ? "" : `: ${files.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`}`]),
  ];
  return parts.length === 0 ? "" : ` (${parts.join(", ")})`;
}

const valueText = (entry: Entry): string => onOneLine(JSON.stringify(entry.value), shownMax.value);

const keyItems = ({ keys }: Picture): readonly PackItem[] =>
  keys.slice(0, shownMax.keys).map((entry, i) => ({
    counts: "keys",
    lines: [`${quoteMark}key ${onOneLine(stateKeys.nameOf(entry.key), shownMax.line)} = ${valueText(entry)}`],
    tier: i < 3 ? 2 : 5,
  }));

const noteItems = ({ notes, nowMs, changes }: Picture, tier: number): readonly PackItem[] =>
  notes
    .filter(({ id, skill }) => !changes.things.some(({ kind, name }) => kind === "note" && name === fullName(id, skill)))
    .map(({ id, skill, writer, agent, savedAtMs, content }) => ({
      counts: "knowledge",
      lines: storedLines(`note ${fullName(id, skill)} (${agent ?? writer}, ${agoText(savedAtMs, nowMs)}): ${content}`, Number.MAX_SAFE_INTEGER),
      tier,
      share: 0.2,
    }));

function researchItems({ research, nowMs }: Picture, tier: number): readonly PackItem[] {
  if (research === undefined) return [];
  const { coreQuestion, thesis, confidence, openQuestions } = toResearch(research);
  const line = (text: string): string => `${quoteMark}${onOneLine(text, shownMax.line)}`;
  return [
    {
      counts: "research",
      lines: [
        `- research ${plainName(researchKeys.idOf(research.key))}, ${agoText(research.createdAtMs, nowMs)}`,
        line(`thesis (${Math.round(confidence * 100)}%): ${thesis}`),
        line(`question: ${coreQuestion}`),
        ...openQuestions.slice(0, shownMax.openQuestions).map((question) => line(`open: ${question}`)),
      ],
      tier,
    },
  ];
}

function changesSection({ changes, currentOf, journal }: Picture, sinceRevision: Revision | undefined): PackSection {
  const items = changes.things.slice(0, shownMax.changes).map((thing, i): PackItem => {
    const { kind, name, by, times } = thing;
    const now = currentOf(thing);
    const what = now === undefined ? " is gone" : kind === "key" ? ` = ${valueText(now)}` : kind === "note" ? `: ${onOneLine(toNoteContent(now).content, shownMax.value)}` : "";
    return {
      counts: "changes",
      lines: [`${quoteMark}${kind} ${onOneLine(name, shownMax.line)}${what} (${onOneLine(by, 60)}${times > 1 ? `, ${times} changes` : ""})`],
      tier: i < 4 ? 3 : 6,
    };
  });
  const rest = changes.elsewhere === 0 ? [] : [{ lines: [`${changes.elsewhere} ${changes.elsewhere === 1 ? "key" : "keys"} of other work changed too (history_log).`], tier: 6 }];
  const title = sinceRevision !== undefined ? `Changed since revision ${sinceRevision}` : journal.isOwn ? "Changed by others since your last entry" : "Changed since that entry";
  return { title, items: [...items, ...(items.length === 0 ? [] : rest)] };
}
