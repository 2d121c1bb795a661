import { HoldfastError } from "../../kernel/errors.ts";

/** Primary result codes of SQLite (the low byte of an extended code). */
const primary = { perm: 3, busy: 5, locked: 6, nomem: 7, readonly: 8, ioerr: 10, corrupt: 11, full: 13, cantopen: 14, protocol: 15, notadb: 26 } as const;

/** Extended code: the shared index next to the store could not grow, which happens only when there is no space left. */
const shmSize = 4874;

const isFull = (error: unknown): boolean => primaryCode(error) === primary.full || (error as { readonly errcode?: unknown } | null)?.errcode === shmSize;

/** SQLite's fixed messages for these codes. The packaged driver omits the number when reading many rows fails, and reports only the message. */
const codeOfWords: ReadonlyMap<string, number> = new Map([
  ["database is locked", primary.busy],
  ["database table is locked", primary.locked],
  ["attempt to write a readonly database", primary.readonly],
  ["disk I/O error", primary.ioerr],
  ["database disk image is malformed", primary.corrupt],
  ["database or disk is full", primary.full],
  ["unable to open database file", primary.cantopen],
  ["locking protocol", primary.protocol],
  ["file is not a database", primary.notadb],
]);

function primaryCode(error: unknown): number | undefined {
  const { code, errcode, message } = (error ?? {}) as { readonly code?: unknown; readonly errcode?: unknown; readonly message?: unknown };
  if (typeof errcode === "number") return errcode & 0xff;
  if (code !== "ERR_SQLITE_ERROR") return undefined;
  return String(message).startsWith("malformed database schema") ? primary.corrupt : codeOfWords.get(String(message));
}

/** Whether to check the file after a failure that no known code explains. Holdfast's statements are fixed and its numbers small, so damage is the likely cause. */
export function mayBeDamage(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as { readonly code?: unknown; readonly errcode?: unknown };
  return code === "ERR_SQLITE_ERROR" || code === "ERR_OUT_OF_RANGE" || typeof errcode === "number";
}

/** Another process has locked the file for a moment. Many simultaneous openers of a WAL file can get SQLITE_PROTOCOL. */
export function isBusy(error: unknown): boolean {
  const code = primaryCode(error);
  return code === primary.busy || code === primary.locked || code === primary.protocol;
}

/** After these errors the connection's view of the file cannot be trusted: reopen and verify before continuing. */
export function isSuspect(error: unknown): boolean {
  const code = primaryCode(error);
  if (isFull(error)) return false;
  return code === primary.ioerr || code === primary.corrupt || code === primary.notadb || code === primary.cantopen;
}

export const isIoError = (error: unknown): boolean => primaryCode(error) === primary.ioerr && !isFull(error);

/** SQLite's message stays in `cause`, for the log; callers get ours. */
export function translateSqliteError(error: unknown): HoldfastError {
  if (error instanceof HoldfastError) return error;
  if (isFull(error))
    return new HoldfastError("storage_full", "The disk that holds the store is full; nothing was changed.", {
      hint: "Free some space and try again; no restart is needed.",
      cause: error,
    });
  switch (primaryCode(error)) {
    case primary.busy:
    case primary.locked:
    case primary.protocol:
      return busyTooLong(error);
    case primary.nomem:
      return new HoldfastError("unavailable", "SQLite ran out of memory; nothing was changed.", { hint: "Free some memory and try again.", cause: error });
    case primary.ioerr:
      return new HoldfastError("unavailable", "The disk failed while the store was being used; nothing was changed.", {
        hint: "Check the disk; the store is reopened and verified on the next call.",
        cause: error,
      });
    case primary.corrupt:
    case primary.notadb:
      return damagedError("The store's file is damaged.", error);
    case primary.perm:
    case primary.readonly:
    case primary.cantopen:
      return new HoldfastError("store_unsupported", "The store's file or folder cannot be opened for writing.", {
        hint: "Give the user that runs Holdfast write access to the file and its folder, or choose another path with --store.",
        cause: error,
      });
    default:
      return new HoldfastError("internal", "SQLite returned an error that Holdfast does not recognize.", { cause: error });
  }
}

export const busyTooLong = (cause?: unknown): HoldfastError =>
  new HoldfastError("unavailable", "Other processes kept the store busy for too long; nothing was changed.", { hint: "Try again.", cause });

/** The file is intact but belongs to another program. It is left unchanged, and `details.foreign` reports this to callers that can handle it. */
export const foreignError = (): HoldfastError =>
  new HoldfastError("store_damaged", "The file is a database of another program, not a Holdfast store. Nothing was overwritten.", {
    hint: "Choose another store with --store. `holdfast import` reads the files of the systems that Holdfast replaces.",
    details: { foreign: true },
  });

export const damagedError = (what: string, cause?: unknown): HoldfastError =>
  new HoldfastError("store_damaged", `${what} Nothing was overwritten.`, { hint: "Restore a backup to this path, or choose another store with --store.", cause });
