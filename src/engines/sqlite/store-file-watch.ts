import type { Stats } from "node:fs";
import { rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { HoldfastError } from "../../kernel/errors.ts";
import type { FileIdentity } from "./store-file.ts";
import { isSameFile, requireOurFile, setAside } from "./store-file.ts";

/**
 * How the file names relate to the files that were opened under them. `bare`: the store exists, but its `-wal` or `-shm` does not.
 * `mixed`: one of those is a different file now, so another process may be using the store, and neither sees the other's locks.
 */
export type FileState = "in place" | "gone" | "replaced" | "elsewhere" | "bare" | "mixed";

/** A folder that changed within this time may change again with the same timestamp. */
const stampGrainMs = 100;
/**
 * How long a file in the store's place must be unchanged before it is used. This gives a copy in progress time to end,
 * and decisions based on the old store's state time to be rejected.
 */
const lieStillMs = 1_000;

const quiet = { throwIfNoEntry: false } as const;

/**
 * SQLite accesses its files by descriptor. If another file takes the store's name, or none has it, SQLite continues with a file that no process will find again,
 * while other processes start with the file that has the name now. This class detects that by comparing names with files; it opens none of them.
 */
export class StoreFileWatch {
  readonly #path: string;
  readonly #named: string;
  readonly #folder: string;
  /** The files opened last. The system does not reuse their numbers while SQLite has them open. */
  #files: { readonly db: FileIdentity; readonly wal: FileIdentity; readonly shm: FileIdentity } | undefined;
  /** The folder when everything was in place. Creating, removing or renaming a file in it changes its timestamp, which cannot be set back. */
  #folderSeen: Stats | undefined;
  #spoiled: "bare" | "mixed" | undefined;
  #newcomer: { readonly stats: Stats; readonly sinceMs: number } | undefined;

  /** `named`: the path as given by the user, which may lead to `path` through links. */
  constructor(path: string, named: string) {
    this.#path = path;
    this.#named = named;
    this.#folder = dirname(path);
  }

  /** Call this before SQLite opens the file. Throws unless the path has the same file as before, or another complete store that has not changed for a while. */
  requireOpenable(): FileIdentity {
    const found = statSync(this.#path, quiet);
    if (found === undefined) {
      this.#newcomer = undefined;
      throw lostError("gone");
    }
    if (!this.#isStillNamed(found)) throw lostError("elsewhere");
    if (this.#files === undefined) return found;
    if (isSameFile(found, this.#files.db)) {
      if (this.#spoiled !== undefined) throw lostError(this.#spoiled);
      return found;
    }
    if (!this.#hasLainStill(found)) throw lostError("replaced");
    requireOurFile(this.#path, found);
    return found;
  }

  /** Call this after SQLite opened the file. Any result except "in place" means that the names changed meanwhile, and it is unknown which file was opened. */
  remember(before: FileIdentity): FileState {
    const [db, wal, shm] = this.#stats();
    if (db === undefined) return "gone";
    if (!isSameFile(db, before)) return "replaced";
    if (wal === undefined || shm === undefined) return "bare";
    this.#files = { db, wal, shm };
    this.#folderSeen = undefined;
    this.#spoiled = undefined;
    this.#newcomer = undefined;
    return "in place";
  }

  check(): FileState {
    // Read first, so that later changes show in the next call.
    const folder = statSync(this.#folder, quiet);
    const fileState = this.#compare();
    this.#folderSeen = fileState === "in place" && folder !== undefined && Date.now() - folder.ctimeMs > stampGrainMs ? folder : undefined;
    if (fileState === "bare" || fileState === "mixed") this.#spoiled = fileState;
    return fileState;
  }

  /** The same for the hot path: one system call for all three files, as long as the folder did not change. */
  checkQuickly(): FileState {
    const seen = this.#folderSeen;
    if (seen === undefined || this.#named !== this.#path) return this.check();
    const folder = statSync(this.#folder, quiet);
    return folder !== undefined && folder.ctimeMs === seen.ctimeMs && isSameFile(folder, seen) ? "in place" : this.check();
  }

  /** Whether the files next to the store's name are the opened ones, or none: closing SQLite's files by name then cannot affect another process's files. */
  isAlone(): boolean {
    const [, wal, shm] = this.#stats();
    const files = this.#files;
    return files !== undefined && (wal === undefined || isSameFile(wal, files.wal)) && (shm === undefined || isSameFile(shm, files.shm));
  }

  /**
   * Call this while the replaced file is still open: its log and index must not be found under the new file's name, where SQLite would use them.
   * The log is renamed, not deleted: it may have the only copy of commits to the replaced file, for anyone who still has that file.
   */
  setCompanionsAside(): void {
    if (this.#files === undefined) return;
    setAside(`${this.#path}-wal`, this.#files.wal);
    const index = setAside(`${this.#path}-shm`, this.#files.shm);
    if (index !== undefined) rmSync(index, { force: true });
  }

  #compare(): FileState {
    const [db, wal, shm] = this.#stats();
    const files = this.#files;
    if (db === undefined) return "gone";
    if (files === undefined || !isSameFile(db, files.db)) return "replaced";
    if ((wal !== undefined && !isSameFile(wal, files.wal)) || (shm !== undefined && !isSameFile(shm, files.shm))) return "mixed";
    if (wal === undefined || shm === undefined) return "bare";
    return this.#isStillNamed(db) ? "in place" : "elsewhere";
  }

  #stats(): readonly (Stats | undefined)[] {
    return ["", "-wal", "-shm"].map((suffix) => statSync(`${this.#path}${suffix}`, quiet));
  }

  #isStillNamed(found: FileIdentity): boolean {
    if (this.#named === this.#path) return true;
    const named = statSync(this.#named, quiet);
    return named !== undefined && isSameFile(named, found);
  }

  #hasLainStill(found: Stats): boolean {
    const nowMs = performance.now();
    const seen = this.#newcomer;
    if (seen === undefined || !isSameFile(seen.stats, found) || seen.stats.size !== found.size || seen.stats.mtimeMs !== found.mtimeMs) {
      this.#newcomer = { stats: found, sinceMs: nowMs };
      return false;
    }
    // An empty file is a store that another process is about to create.
    return found.size > 0 && nowMs - seen.sinceMs >= lieStillMs;
  }
}

const lostWords: Readonly<Record<Exclude<FileState, "in place">, string>> = {
  gone: "The store's file was removed or moved away while in use; nothing was changed. Put it or a backup back; to start with an empty store, restart this server.",
  replaced:
    "The store's file was replaced by another one while in use; nothing was changed. Try again in a few seconds: if it is a complete Holdfast store, it is then used. Otherwise put a backup in its place.",
  elsewhere: "The store's path has led to another file since this server started; nothing was changed. Restart this server, or restore the path.",
  bare: "A file that belongs to the store (-wal or -shm) was removed while in use; nothing was changed. Stop every server on this store, then start them again.",
  mixed: "A file that belongs to the store (-wal or -shm) was replaced while in use; nothing was changed. Stop every server on this store, then start them again.",
};

export const lostError = (fileState: Exclude<FileState, "in place">): HoldfastError =>
  new HoldfastError("unavailable", lostWords[fileState], { details: { store_file: fileState.replace(" ", "_") } });

export const lostCommitError = (): HoldfastError =>
  new HoldfastError("outcome_unknown", "The store's file was removed or replaced while a commit was being made.", {
    hint: "Put the file or a backup back; then read, or retry with the same request key.",
  });
