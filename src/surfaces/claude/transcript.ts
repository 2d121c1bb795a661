import type { CommitWrite } from "../../domain/state/state.ts";
import { HoldfastError } from "../../kernel/errors.ts";
import { randomHex } from "../../kernel/ids.ts";
import type { Json } from "../../kernel/json.ts";
import type { Holdfast, LeaseRef } from "../library/holdfast.ts";
import type { ClaudeSessionEntry, ClaudeSessionSummary, FoldSessionSummary } from "./session-contract.ts";
import type { TranscriptHead } from "./transcript-head.ts";
import { newHead, readTranscriptHead } from "./transcript-head.ts";
import type { SessionKeys, TranscriptKeys } from "./transcript-keys.ts";
import { transcriptKeysOf } from "./transcript-keys.ts";
import type { TranscriptLine } from "./transcript-text.ts";
import { cutText, EntryReader, tooLarge, transcriptLimits } from "./transcript-text.ts";

/** Several rounds are lost only if other writers change the transcript without its lease. */
const roundsMax = 8;
const readChunksMax = 100;
const summaryCharactersMax = 65_536;
/** Summaries of the SDK's other packages have another form. */
const dialect = "typescript";

/** What is known about a stored transcript, as of one version of its head. */
interface Seen {
  readonly version: number;
  readonly head: TranscriptHead | undefined;
  /** Grows with every batch that is stored. */
  readonly uuids: Set<string>;
}

/** A call of `append`, until it is stored. */
export interface Batch {
  readonly lines: readonly TranscriptLine[];
  readonly entries: readonly ClaudeSessionEntry[];
  /** The commits that store it. Kept when an answer is lost, so that a repetition has no second effect. */
  plan?: Plan;
}

interface Plan {
  readonly head: TranscriptHead;
  readonly uuids: readonly string[];
  readonly base: Seen;
  readonly commits: readonly (readonly CommitWrite[])[];
  readonly requestKey: string;
  readonly lease: LeaseRef;
  done: number;
  version: number;
}

/** One transcript: a head and chunks of text. Every commit requires the lease and the version of the head that was seen, so no batch is stored twice, torn or out of order. */
export class Transcript {
  readonly #state: Holdfast["state"];
  readonly #session: SessionKeys;
  readonly #keys: TranscriptKeys;
  readonly #fold: FoldSessionSummary | undefined;
  #seen: Seen | undefined;

  constructor(state: Holdfast["state"], session: SessionKeys, subpath: string | undefined, fold: FoldSessionSummary | undefined) {
    this.#state = state;
    this.#session = session;
    this.#keys = transcriptKeysOf(session, subpath);
    this.#fold = subpath === undefined ? fold : undefined;
  }

  async exists(): Promise<boolean> {
    return (await this.#state.get(this.#keys.head)) !== undefined;
  }

  /** All entries in order; undefined if the transcript was never written or was deleted. */
  async read(): Promise<ClaudeSessionEntry[] | undefined> {
    for (let round = 0; round < roundsMax; round += 1) {
      const entry = await this.#state.get(this.#keys.head);
      if (entry === undefined) {
        this.#seen = undefined;
        return undefined;
      }
      const head = readTranscriptHead(entry.value, this.#keys.head);
      const entries = await this.#readChunks(head);
      // It was deleted meanwhile; the next round sees what there is now.
      if (entries === undefined) continue;
      this.#seen = { version: entry.version, head, uuids: new Set(entries.flatMap(({ uuid }) => (typeof uuid === "string" ? [uuid] : []))) };
      return head.entries === 0 ? undefined : entries;
    }
    throw new HoldfastError("conflict", `The transcript ${JSON.stringify(this.#keys.head)} kept changing while it was read.`);
  }

  /** Stores the entries of a batch that are not stored yet. After a failure, call it again with the same batch. */
  async append(batch: Batch, lease: LeaseRef): Promise<void> {
    for (let round = 0; round < roundsMax; round += 1) {
      batch.plan ??= await this.#planFor(batch, lease);
      if (batch.plan === undefined) return;
      const sent = await this.#send(batch.plan, lease);
      if (sent === "stored") {
        const { base, uuids, head, version } = batch.plan;
        for (const uuid of uuids) base.uuids.add(uuid);
        this.#seen = { version, head, uuids: base.uuids };
        return;
      }
      batch.plan = undefined;
      this.#seen = undefined;
    }
    throw new HoldfastError("conflict", `Other writers kept changing the transcript ${JSON.stringify(this.#keys.head)}; the batch was not stored.`, {
      hint: "Change transcripts only through a session store.",
    });
  }

  async #planFor({ lines, entries }: Batch, lease: LeaseRef): Promise<Plan | undefined> {
    if (this.#seen === undefined) await this.read();
    const base = this.#seen ?? { version: 0, head: undefined, uuids: new Set<string>() };
    const uuids = new Set<string>();
    const isNew = ({ uuid }: TranscriptLine): boolean => {
      if (uuid === undefined) return true;
      if (base.uuids.has(uuid) || uuids.has(uuid)) return false;
      uuids.add(uuid);
      return true;
    };
    const fresh = lines.flatMap((line, i) => (isNew(line) ? [{ text: line.text, entry: entries[i] as ClaudeSessionEntry }] : []));
    if (fresh.length === 0) return undefined;
    const text = fresh.map((line) => line.text).join("");
    const before = base.head ?? newHead(this.#session, this.#keys.subpath, randomHex(12));
    const chunks = cutText(text);
    const after = {
      ...before,
      chunks: before.chunks + chunks.length,
      entries: before.entries + fresh.length,
      characters: before.characters + text.length,
    };
    if (after.characters > transcriptLimits.transcriptCharactersMax)
      throw tooLarge("entries", `a transcript may have ${transcriptLimits.transcriptCharactersMax} characters of JSON`);
    if (after.entries > transcriptLimits.transcriptEntriesMax) throw tooLarge("entries", `a transcript may have ${transcriptLimits.transcriptEntriesMax} entries`);
    const head = await this.#summarized(
      before,
      after,
      fresh.map(({ entry }) => entry),
    );
    const puts = chunks.map((value, i): CommitWrite => ({ op: "set", key: this.#keys.chunk(head.generation, before.chunks + i), value }));
    const commits: CommitWrite[][] = [];
    for (let start = 0; start < puts.length; start += transcriptLimits.commitChunksMax) {
      const isLast = start + transcriptLimits.commitChunksMax >= puts.length;
      // Every commit writes the head, so that its version excludes any other writer; only the last one makes the batch part of the transcript.
      commits.push([...puts.slice(start, start + transcriptLimits.commitChunksMax), { op: "set", key: this.#keys.head, value: (isLast ? head : before) as unknown as Json }]);
    }
    return { head, uuids: [...uuids], base, commits, requestKey: randomHex(32), lease, done: 0, version: base.version };
  }

  async #send(plan: Plan, current: LeaseRef): Promise<"stored" | "refused"> {
    for (; plan.done < plan.commits.length; plan.done += 1) {
      const writes = plan.commits[plan.done] as readonly CommitWrite[];
      try {
        const committed = await this.#state.commit(
          { writes, expected: [{ key: this.#keys.head, version: plan.version }], leases: [plan.lease] },
          { requestKey: `${plan.requestKey}-${plan.done}` },
        );
        if (!committed.ok) return "refused";
        plan.version = committed.results.at(-1)?.version as number;
      } catch (error) {
        // The plan was made under an earlier lease of this store. It was not carried out, and no longer can be.
        if (failureCodeOf(error) === "lease_lost" && plan.lease.token !== current.token) return "refused";
        throw error;
      }
    }
    return "stored";
  }

  async #summarized(before: TranscriptHead, after: TranscriptHead, fresh: ClaudeSessionEntry[]): Promise<TranscriptHead> {
    if (this.#fold === undefined) return after;
    const { projectKey, sessionId } = this.#session;
    const key = { projectKey, sessionId };
    const last = before.summaries?.[dialect];
    // Entries that a store in another language or without the function appended are folded in now.
    const isCurrent = before.entries === 0 || last?.entries === before.entries;
    const previous: ClaudeSessionSummary | undefined = isCurrent && last !== undefined ? { sessionId, mtime: 0, data: last.data } : undefined;
    const missed = isCurrent ? [] : await this.#readChunks(before);
    const { data } = this.#fold(previous, key, [...(missed ?? []), ...fresh]);
    const { [dialect]: _, ...others } = before.summaries ?? {};
    if (JSON.stringify(data).length > summaryCharactersMax) return { ...after, summaries: others };
    return { ...after, summaries: { ...others, [dialect]: { entries: after.entries, data } } };
  }

  /** Undefined if chunks are missing, because the transcript was deleted meanwhile. */
  async #readChunks(head: TranscriptHead): Promise<ClaudeSessionEntry[] | undefined> {
    const entries: ClaudeSessionEntry[] = [];
    const reader = new EntryReader();
    const prefix = this.#keys.chunk(head.generation, 0).slice(0, -8);
    for (let read = 0; read < head.chunks; ) {
      const page = await this.#state.list({
        prefix,
        limit: Math.min(readChunksMax, head.chunks - read),
        after: read === 0 ? undefined : this.#keys.chunk(head.generation, read - 1),
      });
      for (const { key, value } of page.entries) {
        if (key !== this.#keys.chunk(head.generation, read) || typeof value !== "string") return undefined;
        for (const entry of reader.entriesIn(value)) entries.push(entry);
        read += 1;
      }
      if (page.entries.length === 0) return undefined;
    }
    return entries;
  }
}

/** The current summary in this language, if the head has one. */
export function summaryIn(head: TranscriptHead, mtime: number): ClaudeSessionSummary | undefined {
  const summary = head.summaries?.[dialect];
  return summary === undefined || summary.entries !== head.entries ? undefined : { sessionId: head.sessionId, mtime, data: summary.data };
}

/** `holdfast/client` is built by itself, with an error class of its own. */
export const failureCodeOf = (error: unknown): unknown => (error as { readonly code?: unknown } | undefined)?.code;
