import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

/** What a process asked of the file system, in the order in which it was done. Paths are absolute. */
export type DiskEvent =
  | { readonly what: "create"; readonly path: string; readonly truncates: boolean }
  | { readonly what: "mkdir"; readonly path: string }
  | { readonly what: "write"; readonly path: string; readonly offset: number; readonly data: Buffer }
  | { readonly what: "append"; readonly path: string; readonly data: Buffer }
  | { readonly what: "truncate"; readonly path: string; readonly size: number }
  | { readonly what: "sync"; readonly path: string }
  | { readonly what: "unlink"; readonly path: string };

/** Everything that can change a file or make a change durable; what is traced and not understood below is an error, never skipped. */
export const tracedCalls =
  "openat,open,creat,write,pwrite64,writev,pwritev,pwritev2,ftruncate,truncate,fallocate,fsync,fdatasync,sync,syncfs,sync_file_range,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,link,linkat,rmdir,mmap,copy_file_range,sendfile,msync";

/** Reads the log of `strace -f -y -xx` (every string and path in hexadecimal). `isOurs` says which paths matter. */
export async function readTrace(file: string, isOurs: (path: string) => boolean): Promise<readonly DiskEvent[]> {
  const events: DiskEvent[] = [];
  const unfinished = new Map<string, string>();
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
    const [, pid, rest] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    if (pid === undefined || rest === undefined) throw new Error(`A line of the trace has no process: ${line.slice(0, 80)}`);
    if (rest.startsWith("+++") || rest.startsWith("---")) continue;
    if (rest.endsWith("<unfinished ...>")) {
      unfinished.set(pid, rest.slice(0, -"<unfinished ...>".length).trimEnd());
      continue;
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
    const call = resumed === null ? rest : `${unfinished.get(pid) ?? ""}${resumed[1]}`;
    const event = readCall(call, isOurs);
    if (event !== undefined) events.push(event);
  }
  return events;
}

const string = String.raw`"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?`;
const descriptor = String.raw`\d+<((?:\\x[0-9a-f]{2})*)>(\(deleted\))?`;
const folder = String.raw`(?:AT_FDCWD|\d+)(?:<(?:\\x[0-9a-f]{2})*>)?`;
const patterns = {
  open: new RegExp(String.raw`^openat\(${folder}, ${string}, ([A-Z_|]+)(?:, 0\d+)?\)\s+= \d`),
  pwrite: new RegExp(String.raw`^pwrite64\(${descriptor}, ${string}, (\d+), (\d+)\)\s+= (\d+)`),
  write: new RegExp(String.raw`^write\(${descriptor}, ${string}, (\d+)\)\s+= (\d+)`),
  truncate: new RegExp(String.raw`^ftruncate\(${descriptor}, (\d+)\)\s+= 0`),
  sync: new RegExp(String.raw`^(?:fsync|fdatasync)\(${descriptor}\)\s+= 0`),
  unlink: new RegExp(String.raw`^unlink(?:at)?\((?:${folder}, )?${string}(?:, 0)?\)\s+= 0`),
  mkdir: new RegExp(String.raw`^mkdir(?:at)?\((?:${folder}, )?${string}, 0\d+\)\s+= 0`),
};

function readCall(call: string, isOurs: (path: string) => boolean): DiskEvent | undefined {
  if (/=\s+-1 E/.test(call.slice(-120))) return undefined;
  const ours = (hex: string | undefined): string | undefined => {
    const path = bytes(hex).toString();
    return isOurs(path) ? path : undefined;
  };
  let found = patterns.open.exec(call);
  if (found !== null) {
    const path = ours(found[1]);
    if (path === undefined || !/O_CREAT|O_TRUNC/.test(found[3] as string)) return undefined;
    return { what: "create", path, truncates: (found[3] as string).includes("O_TRUNC") };
  }
  found = patterns.pwrite.exec(call);
  if (found !== null) {
    const path = ours(found[1]);
    return path === undefined ? undefined : { what: "write", path, offset: Number(found[6]), data: wholeWrite(found[3], found[4], found[5], found[7]) };
  }
  found = patterns.write.exec(call);
  if (found !== null) {
    const path = ours(found[1]);
    return path === undefined ? undefined : { what: "append", path, data: wholeWrite(found[3], found[4], found[5], found[6]) };
  }
  found = patterns.truncate.exec(call);
  if (found !== null) {
    const path = ours(found[1]);
    return path === undefined ? undefined : { what: "truncate", path, size: Number(found[3]) };
  }
  for (const what of ["sync", "unlink", "mkdir"] as const) {
    found = patterns[what].exec(call);
    if (found === null) continue;
    const path = ours(found[1]);
    return path === undefined ? undefined : { what, path };
  }
  const name = /^\w+/.exec(call)?.[0] ?? "";
  const paths = [...call.matchAll(/(?:\\x[0-9a-f]{2})+/g)].map(([hex]) => bytes(hex).toString()).filter(isOurs);
  if (paths.length === 0) return undefined;
  // Reading through a mapping changes nothing; SQLite's shared index is rebuilt after a crash and is not part of the model.
  if (name === "openat" || (name === "mmap" && (!/PROT_WRITE/.test(call) || !/MAP_SHARED/.test(call) || paths.every((path) => path.endsWith("-shm"))))) return undefined;
  throw new Error(`The trace has a call that the model does not know: ${name} on ${paths[0]}: ${call.slice(0, 40)} … ${call.slice(-80)}`);
}

function wholeWrite(hex: string | undefined, cut: string | undefined, asked: string | undefined, done: string | undefined): Buffer {
  const data = bytes(hex);
  if (cut !== undefined || data.length !== Number(asked) || asked !== done) throw new Error("The trace has a write that is not whole.");
  return data;
}

const bytes = (hex = ""): Buffer => Buffer.from(hex.replaceAll("\\x", ""), "hex");
