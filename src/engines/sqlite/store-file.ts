import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { HoldfastError } from "../../kernel/errors.ts";
import { randomHex } from "../../kernel/ids.ts";
import { applicationId } from "./schema.ts";
import { damagedError, foreignError } from "./sqlite-errors.ts";

/** Returns the type of a folder's file system. A parameter, so that a test can simulate a network file system. */
export type FileSystemType = (folder: string) => number | undefined;

const readFileSystemType: FileSystemType = (folder) => (process.platform === "linux" ? statfsSync(folder).type >>> 0 : undefined);

/** Magic numbers of Linux file systems whose locks or shared memory do not hold between machines. */
const networkFileSystems: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x5346414f, "AFS"],
  [0x73757245, "Coda"],
  [0x00c36400, "Ceph"],
  [0x0bd00bd0, "Lustre"],
  [0x47504653, "GPFS"],
  [0x01161970, "GFS2"],
  [0x7461636f, "OCFS2"],
]);
const fuse = 0x65735546;
const networkFuse =
  /^fuse\.(sshfs|s3fs|s3ql|rclone|gcsfuse|goofys|glusterfs|ceph(-fuse)?|davfs2?|curlftpfs|gvfsd-fuse|juicefs|seaweedfs|mount-s3|smbnetfs|hdfs|lizardfs|moosefs|mfs)\b/;

/** Prepares the path and rejects files that cannot be a safe store. Returns the real path. A new file is created empty and readable only by its owner. */
export function prepareStoreFile(path: string, fileSystemType: FileSystemType = readFileSystemType): string {
  const absolute = resolve(path);
  const folder = dirname(absolute);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Checked before the file itself: companions that exist now without a store were left by another one.
    const companions = ["-wal", "-shm"].map((suffix) => statSync(`${absolute}${suffix}`, { throwIfNoEntry: false }));
    const isNew = lstatSync(absolute, { throwIfNoEntry: false }) === undefined;
    if (!isNew) requireFile(absolute);
    requireLocal(isNew ? folder : dirname(realpathSync(absolute)), fileSystemType);
    if (isNew) {
      // A process that has lost this store's file may still have them open; the new store must not share them.
      if (companions[0] !== undefined) setAside(`${absolute}-wal`, companions[0]);
      if (companions[1] !== undefined) setAside(`${absolute}-shm`, companions[1]);
      syncFolders(folder);
      createPrivate(absolute);
    }
    const real = realpathSync(absolute);
    requireOurFile(real, statSync(real));
    return real;
  } catch (error) {
    if (error instanceof HoldfastError) throw error;
    throw new HoldfastError("store_unsupported", "The store's file or folder cannot be created or read.", {
      hint: "Give the user that runs Holdfast access to the folder, or choose another path with --store.",
      details: { reason: (error as NodeJS.ErrnoException).code ?? "unknown" },
      cause: error,
    });
  }
}

/** Distinguishes a file from another that has taken its name. */
export interface FileIdentity {
  readonly dev: number;
  readonly ino: number;
}

export const isSameFile = (a: FileIdentity, b: FileIdentity): boolean => a.ino === b.ino && a.dev === b.dev;

/** Opening a pipe would wait forever for its other end, and a device stores nothing. */
function requireFile(path: string): void {
  const found = statSync(path);
  if (found.isFile()) return;
  if (found.isDirectory()) throw new HoldfastError("store_unsupported", "The store's path is a folder.", { hint: "Name a file, for example sqlite:FOLDER/holdfast.db" });
  throw new HoldfastError("store_unsupported", "The store's path is a pipe, a socket or a device, not a file.", {
    hint: "Name a regular file, for example sqlite:FOLDER/holdfast.db",
  });
}

/**
 * Files that this process has opened through SQLite, for systems that do not list a process's descriptors. Only systems that list them can distinguish a file
 * from a later one with the same number.
 */
const openedHere = new Set<string>();

const identityText = ({ dev, ino }: FileIdentity): string => `${dev}:${ino}`;

/** Call this before SQLite opens the file. */
export const rememberOpened = (file: FileIdentity): void => void openedHere.add(identityText(file));

/**
 * Rejects another program's file before SQLite opens it. If this process already has the file open, the existing descriptor is used for reading: closing another
 * one would drop SQLite's locks on the file (POSIX locks belong to the process, not to the descriptor), and another process could then consider it
 * abandoned. The list comes from the system, not from memory: one of the drivers releases a closed file only when its statements are garbage-collected, and
 * the number of a deleted file may since have been given to another program's file.
 */
export function requireOurFile(path: string, file: FileIdentity): void {
  const descriptors = descriptorsHere(file);
  if (descriptors === undefined ? openedHere.has(identityText(file)) : descriptors.length > 0) {
    const header = readHeaderBy(descriptors ?? []);
    if (header !== undefined) requireOurHeader(path, header);
    return;
  }
  const descriptor = openSync(path, "r");
  try {
    requireOurHeader(path, readHeader(descriptor));
  } finally {
    closeSync(descriptor);
  }
}

/** This process's descriptors of a file; undefined if the system does not list them. */
function descriptorsHere(file: FileIdentity): readonly number[] | undefined {
  // Windows has neither such locks nor such a list.
  if (process.platform === "win32") return [];
  let names: readonly string[];
  try {
    names = readdirSync(process.platform === "linux" ? "/proc/self/fd" : "/dev/fd");
  } catch {
    return undefined;
  }
  return names.map(Number).filter((descriptor) => {
    try {
      return isSameFile(fstatSync(descriptor), file);
    } catch {
      // Closed meanwhile, like the descriptor that read the list.
      return false;
    }
  });
}

/** Uses the first readable descriptor; if there is none, the check is left to SQLite. */
function readHeaderBy(descriptors: readonly number[]): Buffer | undefined {
  for (const descriptor of descriptors) {
    try {
      return readHeader(descriptor);
    } catch {
      // Opened only for writing.
    }
  }
  return undefined;
}

/**
 * Renames a file that must not be found under its old name, and returns the new name. Another process may have done the same and already created
 * a new file. Only the rename itself shows which file was taken, so a file taken by mistake is renamed back.
 */
export function setAside(path: string, stale: FileIdentity): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || !isSameFile(found, stale)) return undefined;
  const aside = `${path}.stale-${randomHex(6)}`;
  try {
    renameSync(path, aside);
    if (isSameFile(statSync(aside), stale)) return aside;
    linkSync(aside, path);
    rmSync(aside);
  } catch (error) {
    // Another process did the same first.
    if (!["ENOENT", "EEXIST"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
  return undefined;
}

/** Created before SQLite opens it, because the files that SQLite adds copy its mode. The umask must neither widen nor narrow it. */
export function createPrivate(path: string): void {
  closeSync(openSync(path, "a", 0o600));
  chmodSync(path, 0o600);
}

/**
 * Makes the path of a new store durable before it can be found. SQLite syncs the folder of its file, but not the folders above, and a folder that was just
 * created could be lost in a power failure with everything in it. All of them are synced, because another process may have created some.
 */
function syncFolders(folder: string): void {
  for (let at = folder; at !== dirname(at); at = dirname(at)) syncFolder(dirname(at));
}

/** Makes the names in a folder durable: after a power failure, a synced file can still be lost if its name was not synced. */
export function syncFolder(path: string): void {
  try {
    const descriptor = openSync(path, "r");
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // The folder is not readable, so this process has not created a folder in it, or the platform does not support syncing folders.
  }
}

function requireLocal(folder: string, fileSystemType: FileSystemType): void {
  const type = fileSystemType(folder);
  if (type === undefined) return;
  const name = networkFileSystems.get(type) ?? (type === fuse ? networkFuse.exec(mountedType(folder))?.[0] : undefined);
  if (name === undefined) return;
  throw new HoldfastError("store_unsupported", `The store's folder is on a network file system (${name}), where SQLite cannot protect a file that several processes share.`, {
    hint: "Put the store on a local disk.",
    details: { file_system: name },
  });
}

/** FUSE is used by local and network file systems; the mount table distinguishes them. */
function mountedType(folder: string): string {
  let best = { point: "", type: "" };
  for (const line of readFileSync("/proc/self/mountinfo", "utf8").split("\n")) {
    const [left, right] = line.split(" - ");
    const point = left?.split(" ")[4];
    const type = right?.split(" ")[0];
    if (point === undefined || type === undefined || point.length < best.point.length) continue;
    if (folder === point || folder.startsWith(point.endsWith("/") ? point : `${point}/`)) best = { point, type };
  }
  return best.type;
}

const headerBytes = 100;
const applicationIdOffset = 68;
const formatOffsets = [18, 19];

/** Reads from the start of the file, whatever the descriptor's position. The result is shorter if the file is. */
function readHeader(descriptor: number): Buffer {
  const header = Buffer.alloc(headerBytes);
  return header.subarray(0, readSync(descriptor, header, 0, headerBytes, 0));
}

/**
 * Checks the header before SQLite does: opening another program's database could already change it (recovery, checkpoint).
 * A Holdfast store has its application id from its first written page on; an empty file is a store that is about to be created.
 */
function requireOurHeader(path: string, header: Buffer): void {
  if (header.length === 0) return;
  if (header.length === headerBytes && header.toString("latin1", 0, 16) === "SQLite format 3\0") {
    if (header.readUInt32BE(applicationIdOffset) !== applicationId) throw foreignError();
    // For SQLite, any other value here means "read-only".
    if (formatOffsets.every((offset) => [1, 2].includes(header.readUInt8(offset)))) return;
    throw damagedError("The header of the store's file is damaged.");
  }
  // Power was lost while the store was being created: SQLite repairs it from the journal next to it.
  if (header.every((byte) => byte === 0) && existsSync(`${path}-journal`)) return;
  throw damagedError("The file is not a Holdfast store.");
}
