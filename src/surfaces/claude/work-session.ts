import type { CommitWrite } from "../../domain/state/state.ts";
import type { Holdfast, LeaseRef } from "../library/holdfast.ts";
import type { ClaudeSessionEntry, FoldSessionSummary } from "./session-contract.ts";
import type { SessionHoldOptions } from "./session-hold.ts";
import { leaseAttemptsMax, SessionHold } from "./session-hold.ts";
import type { Batch } from "./transcript.ts";
import { failureCodeOf, Transcript } from "./transcript.ts";
import type { SessionKeys } from "./transcript-keys.ts";
import { transcriptKeysOf } from "./transcript-keys.ts";
import { toLines, tooLarge } from "./transcript-text.ts";

/** Batches that could not be stored yet, of one session. */
const backlogCharactersMax = 134_217_728;
const deletedKeysMax = 100;
const writesMax = 120;

interface Waiting {
  readonly batch: Batch;
  readonly subpath: string | undefined;
  readonly characters: number;
}

/** One session, as one store works on it: its lease, its transcripts and the batches that are not stored yet. Its operations run one after another. */
export class WorkSession {
  readonly #holdfast: Pick<Holdfast, "state" | "leases">;
  readonly #keys: SessionKeys;
  readonly #fold: FoldSessionSummary | undefined;
  readonly #hold: SessionHold;
  readonly #onTaken: (heldBy: string | undefined) => void;
  readonly #transcripts = new Map<string | undefined, Transcript>();
  readonly #backlog: Waiting[] = [];
  #backlogCharacters = 0;
  /** From the beginning of work until the session is released or lost. Otherwise it is held for one change at a time. */
  #isWorking = false;
  #last: Promise<unknown> = Promise.resolve();
  #pending = 0;

  constructor(holdfast: Pick<Holdfast, "state" | "leases">, keys: SessionKeys, fold: FoldSessionSummary | undefined, options: SessionHoldOptions) {
    this.#holdfast = holdfast;
    this.#keys = keys;
    this.#fold = fold;
    this.#onTaken = (heldBy) => {
      if (!this.#isWorking) return;
      this.#isWorking = false;
      options.onTaken(heldBy);
    };
    this.#hold = new SessionHold(holdfast, keys, { ...options, onTaken: this.#onTaken });
  }

  get sessionId(): string {
    return this.#keys.sessionId;
  }

  get isHeld(): boolean {
    return this.#hold.isHeld;
  }

  /** No call is in progress and every batch is stored. */
  get isIdle(): boolean {
    return this.#pending === 0 && this.#backlog.length === 0;
  }

  append(subpath: string | undefined, entries: readonly ClaudeSessionEntry[]): Promise<void> {
    const lines = toLines(entries);
    return this.#inTurn(async () => {
      if (lines.length === 0) return;
      const characters = lines.reduce((sum, { text }) => sum + text.length, 0);
      // The SDK repeats a call that failed. The batch is still here and must not be queued twice.
      const last = this.#backlog.at(-1);
      const isRepeated = last !== undefined && last.subpath === subpath && last.characters === characters && last.batch.lines.every(({ text }, i) => text === lines[i]?.text);
      if (!isRepeated) {
        if (this.#backlogCharacters + characters > backlogCharactersMax) throw tooLarge("entries", `at most ${backlogCharactersMax} characters may wait for the store`);
        this.#backlog.push({ batch: { lines, entries: [...entries] }, subpath, characters });
        this.#backlogCharacters += characters;
      }
      await this.#flush();
    });
  }

  /** Begins to work on the session and reads its main transcript; null if it was never written. */
  load(): Promise<ClaudeSessionEntry[] | null> {
    return this.#inTurn(async () => {
      const main = this.#transcript(undefined);
      // A session that does not exist is not held: there is nothing to continue.
      if (!this.#hold.isHeld && !(await main.exists())) return null;
      // Batches that wait belong to the work before; if that was taken over, they are stale.
      await this.#flush().catch((error: unknown) => {
        if (failureCodeOf(error) !== "lease_lost") throw error;
      });
      await this.#begin();
      return (await main.read()) ?? null;
    });
  }

  /** Stores what waits. */
  flush(): Promise<void> {
    return this.#inTurn(() => this.#flush());
  }

  /** Stores what waits and lets other hosts continue the session. */
  release(): Promise<void> {
    return this.#inTurn(async () => {
      try {
        await this.#flush();
      } finally {
        this.#isWorking = false;
        await this.#hold.release();
        this.#transcripts.clear();
      }
    });
  }

  /** Deletes a subagent's transcript or, without a subpath, the whole session. */
  delete(subpath: string | undefined): Promise<void> {
    return this.#inTurn(async () => {
      const prefixes = subpath === undefined ? [this.#keys.subheads, this.#keys.chunks] : [transcriptKeysOf(this.#keys, subpath).chunk("", 0).slice(0, -"/00000000".length)];
      if (!(await this.#transcript(subpath).exists()) && !(await this.#isAny(prefixes))) return;
      const lease = await this.#hold.visit();
      this.#drop((waiting) => subpath !== undefined && waiting.subpath !== subpath);
      try {
        // The head first: what has no head is in no list, and a repeated call removes the rest.
        await this.#remove([transcriptKeysOf(this.#keys, subpath).head], lease);
        for (const prefix of prefixes) await this.#removeAll(prefix, lease);
        if (subpath === undefined) await this.#remove([this.#keys.owner], lease);
      } finally {
        if (subpath === undefined) {
          this.#isWorking = false;
          this.#hold.forget();
          this.#transcripts.clear();
        } else this.#transcripts.delete(subpath);
        if (!this.#isWorking) await this.#hold.release();
      }
    });
  }

  async #flush(): Promise<void> {
    for (let next = this.#backlog[0]; next !== undefined; next = this.#backlog[0]) {
      try {
        await this.#store(next);
      } catch (error) {
        const code = failureCodeOf(error);
        // Another store continues the session, so everything that waits here is stale.
        if (code === "lease_lost") this.#drop(() => false);
        // What can never be stored, or is a change of a session that another host works on, must not be stored later either.
        else if (code === "limit_exceeded" || (code === "claim_held" && !this.#hold.hasBegun)) this.#shift();
        throw error;
      }
      this.#shift();
    }
  }

  async #store({ batch, subpath }: Waiting): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const lease = await this.#leaseFor();
        await this.#transcript(subpath).append(batch, lease);
        return;
      } catch (error) {
        if (failureCodeOf(error) !== "lease_lost" || this.#hold.isTakenOver(error)) throw error;
        // It lapsed while the process was suspended or the store did not answer. Whether another store has begun since shows when it is acquired again.
        this.#hold.drop();
        if (attempt === leaseAttemptsMax) throw this.#hold.lapsed(error);
      } finally {
        if (!this.#isWorking) await this.#hold.release();
      }
    }
  }

  async #leaseFor(): Promise<LeaseRef> {
    if (this.#hold.hasBegun) {
      try {
        return await this.#hold.resume();
      } catch (error) {
        if (failureCodeOf(error) === "lease_lost") this.#onTaken((error as { details?: { held_by?: string } }).details?.held_by);
        throw error;
      }
    }
    // A new session is worked on from its first batch. A change of one that exists, such as a new title, holds it for that change only.
    return (await this.#transcript(undefined).exists()) ? this.#hold.visit() : this.#begin();
  }

  async #begin(): Promise<LeaseRef> {
    const lease = await this.#hold.begin();
    this.#isWorking = true;
    return lease;
  }

  #transcript(subpath: string | undefined): Transcript {
    const known = this.#transcripts.get(subpath);
    if (known !== undefined) return known;
    const transcript = new Transcript(this.#holdfast.state, this.#keys, subpath, this.#fold);
    this.#transcripts.set(subpath, transcript);
    return transcript;
  }

  async #isAny(prefixes: readonly string[]): Promise<boolean> {
    const pages = await Promise.all(prefixes.map((prefix) => this.#holdfast.state.list({ prefix, limit: 1, values: false })));
    return pages.some(({ entries }) => entries.length > 0);
  }

  async #removeAll(prefix: string, lease: LeaseRef): Promise<void> {
    for (;;) {
      const { entries } = await this.#holdfast.state.list({ prefix, limit: deletedKeysMax, values: false });
      if (entries.length === 0) return;
      await this.#remove(
        entries.map(({ key }) => key),
        lease,
      );
    }
  }

  async #remove(keys: readonly string[], lease: LeaseRef): Promise<void> {
    await this.#holdfast.state.commit({ writes: keys.slice(0, writesMax).map((key): CommitWrite => ({ op: "delete", key })), leases: [lease] });
  }

  #shift(): void {
    this.#backlogCharacters -= this.#backlog.shift()?.characters ?? 0;
  }

  #drop(isKept: (waiting: Waiting) => boolean): void {
    const kept = this.#backlog.splice(0).filter(isKept);
    this.#backlog.push(...kept);
    this.#backlogCharacters = kept.reduce((sum, { characters }) => sum + characters, 0);
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#pending += 1;
    const result = this.#last.then(work).finally(() => {
      this.#pending -= 1;
    });
    this.#last = result.catch(() => undefined);
    return result;
  }
}
