import { findText } from "../../search/find-text.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Entry, Store } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { researchKeys } from "../keyspace.ts";
import { requireWordings } from "../read-fields.ts";
import { number, object, optional, storedAs, string } from "../stored-record.ts";
import { toResearch } from "./checkpoint.ts";

/** The fields of a checkpoint that a list shows. */
export interface CheckpointSummary {
  readonly id: string;
  /** Cut at `thesisShownCharacters`. */
  readonly thesis: string;
  readonly confidence: number;
  readonly trigger: string;
  readonly savedAtMs: number;
  readonly skill?: string;
  readonly workspace?: string;
}

export interface ListQuery {
  readonly skill?: string;
  readonly workspace?: string;
  /** Best matches first instead of newest first. */
  readonly query?: string;
  /** Alternative wordings of the query. */
  readonly also?: readonly string[];
  readonly limit: number;
  /** The `next` cursor of the previous page. */
  readonly after?: string;
}

export interface CheckpointPage {
  readonly checkpoints: readonly CheckpointSummary[];
  readonly next?: string;
}

const readSummary = storedAs(
  object<CheckpointSummary>({ id: string, thesis: string, confidence: number, trigger: string, savedAtMs: number, skill: optional(string), workspace: optional(string) }),
);

export function toSummary(entry: Entry): CheckpointSummary {
  const { id, savedAtMs, ...rest } = readSummary(entry);
  return summaryOf(id, rest, savedAtMs);
}

const thesisShownCharacters = 80;
/** Entries read for one page. A page that reaches this limit ends early, and its cursor continues from there. */
const lookedAtMax = 5_000;
const batch = 200;

export const summaryOf = (id: string, { thesis, confidence, trigger, skill, workspace }: Omit<CheckpointSummary, "id" | "savedAtMs">, savedAtMs: number): CheckpointSummary => ({
  id,
  thesis: shortened(thesis),
  confidence,
  trigger,
  savedAtMs,
  ...(skill === undefined ? {} : { skill }),
  ...(workspace === undefined ? {} : { workspace }),
});

/** Counts code points, so that no character is split; the ellipsis is the last of them. */
function shortened(text: string): string {
  const characters = [...text];
  return characters.length <= thesisShownCharacters ? text : `${characters.slice(0, thesisShownCharacters - 1).join("")}…`;
}

export const listCheckpoints = ({ store }: Pick<Scope, "store">, query: ListQuery): Promise<CheckpointPage> =>
  query.query === undefined ? newestFirst(store, query) : bestFirst(store, query, query.query);

async function newestFirst(store: Store, { skill, workspace, limit, after }: ListQuery): Promise<CheckpointPage> {
  const listing = skill !== undefined ? researchKeys.listBy(["skill", skill]) : workspace !== undefined ? researchKeys.listBy(["workspace", workspace]) : researchKeys.list;
  const found: CheckpointSummary[] = [];
  let end = after === undefined ? listing.end : `${listing.start}${after}`;
  for (let lookedAt = 0; lookedAt < lookedAtMax; lookedAt += batch) {
    const page = await store.read({ start: listing.start, end }, { limit: batch, reverse: true });
    for (const entry of page.entries) {
      const summary = toSummary(entry);
      // The cursor is the last entry shown rather than the first one left out, so checkpoints saved meanwhile do not shift it.
      if (found.length === limit) return { checkpoints: found, next: end?.slice(listing.start.length) };
      if (workspace === undefined || summary.workspace === workspace) found.push(summary);
      end = entry.key;
    }
    if (!page.more) return { checkpoints: found };
  }
  return { checkpoints: found, next: end?.slice(listing.start.length) };
}

/** The cursor is a position in the ranking. */
async function bestFirst(store: Store, { also, skill, workspace, limit, after }: ListQuery, question: string): Promise<CheckpointPage> {
  const { hits } = await findText(store, { areas: [researchKeys.area], question, also: requireWordings(also), limit: lookedAtMax });
  const found: CheckpointSummary[] = [];
  let position = after === undefined ? 0 : Number(after);
  while (position < hits.length) {
    const some = hits.slice(position, position + batch);
    const { entries } = await store.read(some.map(({ key }) => keyRange(key)));
    for (const { key } of some) {
      if (found.length === limit) return { checkpoints: found, next: String(position) };
      position += 1;
      const entry = entries.find((candidate) => candidate.key === key);
      if (entry === undefined) continue;
      const content = toResearch(entry);
      const summary = summaryOf(researchKeys.idOf(key), content, content.savedAtMs);
      if ((skill === undefined || summary.skill === skill) && (workspace === undefined || summary.workspace === workspace)) found.push(summary);
    }
  }
  return { checkpoints: found };
}
