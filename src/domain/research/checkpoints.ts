import { HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { canonicalJson } from "../../kernel/json.ts";
import { findText } from "../../search/find-text.ts";
import { indexText } from "../../search/index-text.ts";
import { limits } from "../../store/limits.ts";
import { keyRange } from "../../store/ranges.ts";
import type { Entry, Store, Write } from "../../store/store.ts";
import type { Scope } from "../../store/transact.ts";
import { transact } from "../../store/transact.ts";
import { researchKeys } from "../keyspace.ts";
import { storedAs, string, toStored } from "../stored-record.ts";
import type { ResearchCheckpoint, ResearchContent } from "./checkpoint.ts";
import { requireResearchContent, researchLimits, toResearch } from "./checkpoint.ts";
import { checkpointId } from "./checkpoint-id.ts";
import { summaryOf } from "./list-checkpoints.ts";
import { isNearDuplicate } from "./near-duplicate.ts";

export interface SaveCheckpointResult {
  readonly checkpointId: string;
  /** The id of an equal checkpoint, in which case nothing was saved, or of one that says almost the same. */
  readonly duplicateOf?: string;
}

/** Saves a checkpoint. An equal checkpoint is not saved again. One that is almost equal is saved, and the result names the other. */
export async function saveCheckpoint(scope: Scope, input: Partial<ResearchContent>): Promise<SaveCheckpointResult> {
  const given = requireResearchContent(input);
  return transact<{ id: string; like: string | null }, SaveCheckpointResult>(scope, {
    async decide() {
      const content = given.continues === undefined ? given : { ...given, continues: await requireCheckpointId(scope.store, given.continues, "continues") };
      const contentKey = researchKeys.content(canonicalJson(content));
      const { entries, nowMs, revision } = await scope.store.read(keyRange(contentKey));
      const equal = entries[0] && toCheckpointId(entries[0]);
      if (equal !== undefined) return { answer: { checkpointId: equal, duplicateOf: equal } };
      const id = await freeId(scope.store, nowMs, content.thesis);
      return {
        checks: [
          { key: researchKeys.checkpoint(id), is: "absent" },
          { key: contentKey, is: "absent" },
        ],
        writes: [...checkpointWrites(id, content, { savedAtMs: nowMs, seenRevision: revision }), { op: "put", key: contentKey, value: id }],
        note: { id, like: (await readNearDuplicate(scope.store, content)) ?? null },
      };
    },
    finish: ({ id, like }) => (like === null ? { checkpointId: id } : { checkpointId: id, duplicateOf: like }),
  });
}

export function checkpointWrites(id: string, content: ResearchContent, order: { readonly savedAtMs: number; readonly seenRevision: number }): Write[] {
  const { skill, workspace } = content;
  const summary = toStored(summaryOf(id, content, order.savedAtMs));
  const labels = [...(skill === undefined ? [] : [["skill", skill] as const]), ...(workspace === undefined ? [] : [["workspace", workspace] as const])];
  return [
    {
      op: "put",
      key: researchKeys.checkpoint(id),
      value: toStored({ ...content, savedAtMs: order.savedAtMs }),
      record: { kind: "checkpoint", op: "save", subject: id },
      index: indexText(researchKeys.area, [
        { text: `${content.coreQuestion}\n${content.thesis}`, weight: 2 },
        { text: [skill, workspace].filter((label) => label !== undefined).join("\n"), weight: 1 },
        { text: [...content.openQuestions, ...(content.questions ?? [])].join("\n"), weight: 1 },
        { text: content.uniqueContributions.map((each) => each.content).join("\n"), weight: 1 },
        { text: content.action?.goal ?? "", weight: 1 },
        { text: content.tensions.map(({ between, nature }) => `${between.join("\n")}\n${nature}`).join("\n"), weight: 1 },
        { text: content.sources.map((source) => `${source.id}\n${source.take}`).join("\n"), weight: 1 },
      ]),
    },
    { op: "put", key: researchKeys.listed(order, id), value: summary },
    ...labels.map((label): Write => ({ op: "put", key: researchKeys.listedBy(label, order, id), value: summary })),
  ];
}

/** A number distinguishes checkpoints of the same second whose theses begin alike. */
async function freeId(store: Store, savedAtMs: number, thesis: string): Promise<string> {
  for (let nth = 1; ; nth += 1) {
    const id = checkpointId(savedAtMs, thesis, nth);
    if ((await store.read(keyRange(researchKeys.checkpoint(id)), { values: false })).entries.length === 0) return id;
  }
}

const duplicateCandidatesMax = 20;
const duplicateCoverageMin = 0.5;

/** The checkpoint that this one continues is skipped, because it is expected to be similar. */
async function readNearDuplicate(store: Store, content: ResearchContent): Promise<string | undefined> {
  const question = `${content.thesis}\n${content.coreQuestion}`;
  const found = await findText(store, { areas: [researchKeys.area], question, limit: duplicateCandidatesMax });
  const hits = found.hits.filter(({ coverage }) => coverage >= duplicateCoverageMin);
  if (hits.length === 0) return undefined;
  const { entries } = await store.read(hits.map(({ key }) => keyRange(key)));
  const same = entries.find((entry) => {
    const other = toResearch(entry);
    return researchKeys.idOf(entry.key) !== content.continues && other.skill === content.skill && other.workspace === content.workspace && isNearDuplicate(content, other);
  });
  return same && researchKeys.idOf(same.key);
}

/** Finds a checkpoint by its full id, or by any part of the id that no other checkpoint shares. */
export async function requireCheckpoint({ store }: Pick<Scope, "store">, idOrPart: string): Promise<ResearchCheckpoint> {
  const id = await requireCheckpointId(store, idOrPart, "checkpoint_id");
  const checkpoint = await readCheckpoint({ store }, id);
  if (checkpoint === undefined) throw unknownCheckpoint(idOrPart, "checkpoint_id");
  return checkpoint;
}

/** Accepts only the full id. */
export async function readCheckpoint({ store }: Pick<Scope, "store">, id: string): Promise<ResearchCheckpoint | undefined> {
  const entry = (await store.read(keyRange(researchKeys.checkpoint(id)))).entries[0];
  return entry && toCheckpoint(entry);
}

const candidatesMax = 10;

async function requireCheckpointId(store: Store, idOrPart: string, field: string): Promise<string> {
  const part = idOrPart.trim().normalize("NFC");
  if (part === "" || !part.isWellFormed() || part.includes("\0") || Buffer.byteLength(part) > researchLimits.labelBytesMax)
    throw invalidInput(field, "must be a checkpoint's id or a part of one; list_checkpoints shows them");
  if ((await store.read(keyRange(researchKeys.checkpoint(part)), { values: false })).entries.length > 0) return part;
  const lowerPart = part.toLowerCase();
  const found: string[] = [];
  let range = researchKeys.all;
  for (;;) {
    // Newest first, because the caller most likely means a recent one.
    const page = await store.read(range, { limit: limits.readEntriesMax, values: false, reverse: true });
    found.push(...page.entries.map(({ key }) => researchKeys.idOf(key)).filter((id) => id.toLowerCase().includes(lowerPart)));
    const last = page.entries.at(-1);
    if (!page.more || last === undefined || found.length > candidatesMax) break;
    range = { ...range, end: last.key };
  }
  if (found.length === 0) throw unknownCheckpoint(idOrPart, field);
  if (found.length === 1) return found[0] as string;
  const candidates = found.slice(0, candidatesMax);
  throw new HoldfastError(
    "ambiguous",
    `${field}: ${JSON.stringify(part)} matches several checkpoint ids: ${candidates.join(", ")}${found.length > candidatesMax ? " and more" : ""}`,
    {
      hint: "Pass a longer part or the full id.",
      details: { field, candidates },
    },
  );
}

const unknownCheckpoint = (id: string, field: string): HoldfastError =>
  new HoldfastError("not_found", `${field}: there is no research checkpoint ${JSON.stringify(id.slice(0, 100))}.`, {
    hint: "list_checkpoints shows the saved ones.",
    details: { [field]: id },
  });

const toCheckpoint = (entry: Entry): ResearchCheckpoint => ({
  ...toResearch(entry),
  id: researchKeys.idOf(entry.key),
  writer: entry.writer,
  ...(entry.agent === undefined ? {} : { agent: entry.agent }),
});

/** The value stored under a content key: the id of the checkpoint with that content. */
const toCheckpointId = storedAs(string);
