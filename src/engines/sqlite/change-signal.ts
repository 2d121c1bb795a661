import type { FSWatcher } from "node:fs";
import { closeSync, fstatSync, fsyncSync, openSync, statSync, watch, writeSync } from "node:fs";
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import type { CommitNote } from "./commit-notes.ts";
import { eraseCommitNote, writeCommitNote } from "./commit-notes.ts";
import { createPrivate } from "./store-file.ts";

const pollMs = 500;
/** Without file notification (a full inotify table, an exotic platform) the net has to be tighter. */
const pollWithoutWatchMs = 50;
/** How often a writer makes sure that it still writes to the file that the others watch. */
const recheckMs = 1_000;

export const signalPath = (storePath: string): string => `${storePath}-bell`;

/**
 * Tells other processes on the same file that something was committed: a small file beside the store is written to after each commit,
 * heard by file notification. Polling catches what the signal misses, so a deleted file or a process killed before notifying costs half a second, not a change.
 */
export class SqliteChangeSignal {
  readonly #path: string;
  readonly #storePath: string;
  readonly #hasChanged: () => boolean;
  readonly #log: Log;
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #due = new Set<string>();
  #descriptor: number | undefined;
  #checkedMs = Number.NEGATIVE_INFINITY;
  #watcher: FSWatcher | undefined;
  #watchedInode: number | undefined;
  #poll: NodeJS.Timeout | undefined;
  #closed = false;

  /** `hasChanged`: has another connection committed since the last time this was asked? */
  constructor(storePath: string, hasChanged: () => boolean, log: Log) {
    this.#storePath = storePath;
    this.#path = signalPath(storePath);
    this.#hasChanged = hasChanged;
    this.#log = log;
  }

  get path(): string {
    return this.#path;
  }

  listen(namespace: string, notify: () => void): () => void {
    const heard = this.#listeners.get(namespace) ?? new Set();
    this.#listeners.set(namespace, heard);
    // One entry per call, also when the same function listens twice.
    const listener = (): void => notify();
    heard.add(listener);
    this.#start();
    return () => {
      heard.delete(listener);
      if (heard.size === 0 && this.#listeners.get(namespace) === heard) this.#listeners.delete(namespace);
      if (this.#listeners.size === 0) this.#stop();
    };
  }

  /** After a change of this process that took no revision. */
  notify(namespace: string): void {
    this.#notifyHere(namespace);
    this.#write((descriptor) => void writeSync(descriptor, "!", 0));
  }

  /** After a commit that took a revision, before it is answered: notes the revision, and other processes hear the write. */
  acknowledge(note: CommitNote): void {
    this.#write((descriptor) => writeCommitNote(descriptor, this.#storePath, note));
  }

  /** Before a namespace begins anew. Durable: an old note would make the new beginning look like a loss. */
  forget(namespaceId: number): void {
    this.#write((descriptor) => {
      eraseCommitNote(descriptor, namespaceId);
      fsyncSync(descriptor);
    });
  }

  #write(work: (descriptor: number) => void): void {
    try {
      this.#requireDescriptor();
      work(this.#descriptor as number);
    } catch (error) {
      // The commit stands; others hear of it by polling.
      this.#release();
      this.#log("debug", "bell_not_rung", { reason: (error as NodeJS.ErrnoException).code });
    }
  }

  #notifyHere(namespace: string): void {
    for (const listener of [...(this.#listeners.get(namespace) ?? [])]) listener();
  }

  /** Notifies listeners in this process after the current turn of the event loop, and in `close` at the latest. */
  notifySoon(namespace: string, clock: Clock): void {
    if (this.#due.size === 0) clock.turn(() => this.#notifyDue());
    this.#due.add(namespace);
  }

  #notifyDue(): void {
    for (const namespace of this.#due) this.#notifyHere(namespace);
    this.#due.clear();
  }

  close(): void {
    this.#notifyDue();
    this.#closed = true;
    this.#listeners.clear();
    this.#stop();
    this.#release();
  }

  #requireDescriptor(): void {
    const nowMs = performance.now();
    if (this.#descriptor !== undefined && nowMs - this.#checkedMs < recheckMs) return;
    this.#checkedMs = nowMs;
    const found = statSync(this.#path, { throwIfNoEntry: false });
    if (found === undefined) createPrivate(this.#path);
    if (this.#descriptor !== undefined && found !== undefined && fstatSync(this.#descriptor).ino === found.ino) return;
    this.#release();
    this.#descriptor = openSync(this.#path, "r+");
  }

  #release(): void {
    if (this.#descriptor === undefined) return;
    closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #start(): void {
    if (this.#poll !== undefined || this.#closed) return;
    // What happened before anybody listened is no news: a listener looks at the log first.
    this.#look();
    this.#watch();
    this.#poll = setInterval(() => this.#tick(), this.#watcher === undefined ? pollWithoutWatchMs : pollMs);
    this.#poll.unref();
  }

  #stop(): void {
    clearInterval(this.#poll);
    this.#poll = undefined;
    this.#unwatch();
  }

  #tick(): void {
    if (this.#watcher !== undefined && statSync(this.#path, { throwIfNoEntry: false })?.ino !== this.#watchedInode) this.#watch();
    this.#look();
  }

  #watch(): void {
    this.#unwatch();
    try {
      if (statSync(this.#path, { throwIfNoEntry: false }) === undefined) createPrivate(this.#path);
      this.#watchedInode = statSync(this.#path).ino;
      this.#watcher = watch(this.#path, { persistent: false }, () => this.#look());
      this.#watcher.on("error", () => this.#unwatch());
    } catch (error) {
      this.#log("warn", "bell_not_watched", { reason: (error as NodeJS.ErrnoException).code });
    }
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  /** Own commits write to the file too; only another connection's are news here. */
  #look(): void {
    if (this.#closed || !this.#hasChanged()) return;
    for (const heard of [...this.#listeners.values()]) for (const listener of [...heard]) listener();
  }
}
