import type { FSWatcher } from "node:fs";
import { closeSync, fstatSync, fsyncSync, openSync, statSync, watch, writeSync } from "node:fs";
import type { Clock } from "../../kernel/clock.ts";
import type { Log } from "../../kernel/log.ts";
import type { CommitNote } from "./commit-notes.ts";
import { eraseCommitNote, writeCommitNote } from "./commit-notes.ts";
import { createPrivate } from "./store-file.ts";

const pollMs = 500;
/** Without file notification (a full inotify table, an unusual platform), polling must be more frequent. */
const pollWithoutWatchMs = 50;
/** How often a writer checks that it still writes to the file that the others watch. */
const recheckMs = 1_000;

export const signalPath = (storePath: string): string => `${storePath}-bell`;

/**
 * Notifies other processes on the same file of commits: each commit writes to a small file next to the store, and file notification reports the write.
 * Polling covers what the signal misses, so a deleted file or a process killed before notifying causes a delay of half a second, not a lost change.
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

  /** `hasChanged`: whether another connection has committed since the last call. */
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
    // One entry per call, even if the same function listens twice.
    const listener = (): void => notify();
    heard.add(listener);
    this.#start();
    return () => {
      heard.delete(listener);
      if (heard.size === 0 && this.#listeners.get(namespace) === heard) this.#listeners.delete(namespace);
      if (this.#listeners.size === 0) this.#stop();
    };
  }

  /** Call this after a change by this process that took no revision. */
  notify(namespace: string): void {
    this.#notifyHere(namespace);
    this.#write((descriptor) => void writeSync(descriptor, "!", 0));
  }

  /** Call this after a commit that took a revision, before returning it. Notes the revision; other processes are notified by the write. */
  acknowledge(note: CommitNote): void {
    this.#write((descriptor) => writeCommitNote(descriptor, this.#storePath, note));
  }

  /** Call this before a namespace starts again from nothing. Durable: with an old note, the new start would look like a loss. */
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
      // The commit is valid; other processes notice it by polling.
      this.#release();
      this.#log("debug", "bell_not_rung", { reason: (error as NodeJS.ErrnoException).code });
    }
  }

  #notifyHere(namespace: string): void {
    for (const listener of [...(this.#listeners.get(namespace) ?? [])]) listener();
  }

  /** Notifies listeners in this process after the current turn of the event loop, and no later than `close`. */
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
    // Changes before the first listener are not reported: a listener reads the log first.
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

  /** This process's own commits write to the file too, so only commits of other connections are reported here. */
  #look(): void {
    if (this.#closed || !this.#hasChanged()) return;
    for (const heard of [...this.#listeners.values()]) for (const listener of [...heard]) listener();
  }
}
