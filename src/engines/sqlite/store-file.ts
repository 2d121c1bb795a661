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

/** What the machine says about a folder's file system; a parameter so that a network file system can be played in a test. */
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

/** Makes the place ready and refuses what cannot be a safe store. Returns the real path. A new file is created empty, readable by its owner only. */
export function prepareStoreFile(path: string, fileSystemType: FileSystemType = readFileSystemType): string {
  const absolute = resolve(path);
  const folder = dirname(absolute);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // Asked before the file itself: what is there now without a store was left by another one.
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
      hint: "Give the user that runs Holdfast access to the folder, or name another place with --store.",
      details: { reason: (error as NodeJS.ErrnoException).code ?? "unknown" },
      cause: error,
    });
  }
}

/** How a file is told from another that has taken its name. */
export interface FileIdentity {
  readonly dev: number;
  readonly ino: number;
}

export const isSameFile = (a: FileIdentity, b: FileIdentity): boolean => a.ino === b.ino && a.dev === b.dev;

/** Opening a pipe would wait for its other end for ever, and a device keeps nothing. */
function requireFile(path: string): void {
  const found = statSync(path);
  if (found.isFile()) return;
  if (found.isDirectory()) throw new HoldfastError("store_unsupported", "The store's path is a folder.", { hint: "Name a file, for example sqlite:FOLDER/holdfast.db" });
  throw new HoldfastError("store_unsupported", "The store's path is a pipe, a socket or a device, not a file.", {
    hint: "Name a file of its own, for example sqlite:FOLDER/holdfast.db",
  });
}

/**
 * Files that this process has opened through SQLite, for systems that do not tell which descriptors a process has. Only those that do can tell a file
 * from a later one that was given its number.
 */
const openedHere = new Set<string>();

const identityText = ({ dev, ino }: FileIdentity): string => `${dev}:${ino}`;

/** To be called before SQLite opens the file. */
export const rememberOpened = (file: FileIdentity): void => void openedHere.add(identityText(file));

/**
 * Refuses another program's file before SQLite touches it. A file that this process has open already is read by the descriptor it has: closing another
 * one would drop SQLite's locks on the file (POSIX locks belong to the process, not to the descriptor), and another process could then take it for
 * abandoned. The system is asked, not our memory: one of the drivers lets go of a closed file only when its statements are collected as garbage, and
 * the number of a file that is gone may be another program's by now.
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

/** This process's descriptors of a file; undefined where the system does not tell. */
function descriptorsHere(file: FileIdentity): readonly number[] | undefined {
  // No such locks there, and no such list.
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
      // Closed meanwhile, like the one that read the list.
      return false;
    }
  });
}

/** By the first that may be read; without one SQLite is left to look for itself. */
function readHeaderBy(descriptors: readonly number[]): Buffer | undefined {
  for (const descriptor of descriptors) {
    try {
      return readHeader(descriptor);
    } catch {
      // Opened for writing only.
    }
  }
  return undefined;
}

/**
 * Renames a file that must not be found under its old name, and returns the new name. Another process may have done the same and made
 * a new file already: renaming is the one step that shows which file was taken, and what was taken by mistake is given back.
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
    // Somebody else was faster, with the same intention.
    if (!["ENOENT", "EEXIST"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
  return undefined;
}

/** Created before SQLite sees it: the files SQLite adds beside it take over its mode. The umask must neither widen nor narrow it. */
export function createPrivate(path: string): void {
  closeSync(openSync(path, "a", 0o600));
  chmodSync(path, 0o600);
}

/**
 * Makes the names that lead to a new store durable, before it can be found: SQLite syncs the folder of its file, not the folders above,
 * and one of those, just made, could be gone after a loss of power with everything in it. Which of them are new is not asked: another process may have made them.
 */
function syncFolders(folder: string): void {
  for (let at = folder; at !== dirname(at); at = dirname(at)) syncFolder(dirname(at));
}

/** Makes the names in a folder durable: a file that was synced can still be gone after a loss of power if its name was not. */
export function syncFolder(path: string): void {
  try {
    const descriptor = openSync(path, "r");
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // Not ours to read, or a platform without the notion: then we have not made a folder in it, or cannot do more.
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

/** FUSE carries local and network file systems alike; the mount table tells them apart. */
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

/** At the file's beginning, wherever the descriptor stands; shorter where the file is. */
function readHeader(descriptor: number): Buffer {
  const header = Buffer.alloc(headerBytes);
  return header.subarray(0, readSync(descriptor, header, 0, headerBytes, 0));
}

/**
 * Looks at the header before SQLite does: opening another program's database could already change it (recovery, checkpoint).
 * A Holdfast store carries its application id from its first written page on; an empty file is a store about to be made.
 */
function requireOurHeader(path: string, header: Buffer): void {
  if (header.length === 0) return;
  if (header.length === headerBytes && header.toString("latin1", 0, 16) === "SQLite format 3\0") {
    if (header.readUInt32BE(applicationIdOffset) !== applicationId) throw foreignError();
    // Anything else there means "for reading only" to SQLite.
    if (formatOffsets.every((offset) => [1, 2].includes(header.readUInt8(offset)))) return;
    throw damagedError("The header of the store's file is damaged.");
  }
  // Power was lost while the store was being made: SQLite's journal beside it puts it right.
  if (header.every((byte) => byte === 0) && existsSync(`${path}-journal`)) return;
  throw damagedError("The file is not a Holdfast store.");
}
