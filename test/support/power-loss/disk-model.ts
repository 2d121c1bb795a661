import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Random } from "../../../src/verify/random.ts";
import { between } from "../../../src/verify/random.ts";
import type { DiskEvent } from "./read-trace.ts";

type Change = { readonly offset: number; readonly data: Buffer } | { readonly size: number };

/** A file's bytes: what is surely on the disk, and what was asked for since and may be there in part. */
interface FileNode {
  durable: Buffer;
  pending: Change[];
}

type Node = FileNode | "folder";
type NameChange = { readonly path: string; readonly node: Node | undefined };

const sectorBytes = 512;

/**
 * A disk that keeps only what it was told to keep. An fsync of a file makes its bytes durable, an fsync of a folder the names in it; everything later may
 * be there or not when power fails: each sector by itself, each name by itself, in any combination. No real file system is more forgetful.
 */
export class DiskModel {
  readonly #root: string;
  /** What running processes see. */
  readonly #names = new Map<string, Node>();
  readonly #durableNames = new Map<string, Node>();
  #pendingNames: NameChange[] = [];

  constructor(root: string) {
    this.#root = root;
  }

  apply(event: DiskEvent): void {
    switch (event.what) {
      case "mkdir":
        return this.#rename(event.path, "folder");
      case "create": {
        const known = this.#names.get(event.path);
        if (known === undefined) this.#rename(event.path, { durable: Buffer.alloc(0), pending: [] });
        else if (event.truncates) this.#file(event.path).pending.push({ size: 0 });
        return;
      }
      case "unlink":
        return this.#rename(event.path, undefined);
      case "write":
        return void this.#file(event.path).pending.push({ offset: event.offset, data: event.data });
      case "truncate":
        return void this.#file(event.path).pending.push({ size: event.size });
      case "append":
        throw new Error(`The model does not know where a plain write to ${event.path} goes.`);
      case "sync":
        return this.#sync(event.path);
    }
  }

  /** Bytes that a loss of power could take now. */
  get bytesAtRisk(): number {
    let bytes = 0;
    for (const node of this.#names.values()) if (node !== "folder") for (const change of node.pending) bytes += "data" in change ? change.data.length : 1;
    return bytes;
  }

  /** Power fails: writes one of the possible remains into `target`. */
  writeRemains(target: string, random: Random): void {
    const names = new Map(this.#durableNames);
    const keepName = chooser(random);
    for (const { path, node } of this.#pendingNames) {
      if (!keepName()) continue;
      if (node === undefined) names.delete(path);
      else names.set(path, node);
    }
    const isThere = (path: string): boolean => path === this.#root || (names.get(path) === "folder" && isThere(dirname(path)));
    for (const [path, node] of names) {
      if (node === "folder" || !isThere(dirname(path))) continue;
      const copy = join(target, path.slice(this.#root.length));
      mkdirSync(dirname(copy), { recursive: true });
      writeFileSync(copy, remainsOf(node, random), { mode: 0o600 });
    }
  }

  #file(path: string): FileNode {
    const node = this.#names.get(path);
    if (node === undefined || node === "folder") throw new Error(`The trace changes ${path}, which it has not created.`);
    return node;
  }

  #rename(path: string, node: Node | undefined): void {
    if (node === undefined) this.#names.delete(path);
    else this.#names.set(path, node);
    this.#pendingNames.push({ path, node });
  }

  #sync(path: string): void {
    const node = this.#names.get(path);
    if (node !== undefined && node !== "folder") {
      node.durable = played(node.durable, node.pending);
      node.pending = [];
      return;
    }
    for (const change of this.#pendingNames) {
      if (dirname(change.path) !== path) continue;
      if (change.node === undefined) this.#durableNames.delete(change.path);
      else this.#durableNames.set(change.path, change.node);
    }
    this.#pendingNames = this.#pendingNames.filter((change) => dirname(change.path) !== path);
  }
}

/** All, none, or each by itself: the extremes are where most faults show. */
function chooser(random: Random): () => boolean {
  const odds = [0, 0, 1, 0.2, 0.5, 0.8][between(random, 0, 5)] as number;
  return () => random() < odds;
}

function remainsOf({ durable, pending }: FileNode, random: Random): Buffer {
  if (random() < 0.3) {
    // In order up to some point, the last write torn at a sector: what a disk without reordering leaves.
    const whole = between(random, 0, pending.length);
    const torn = pending[whole];
    const kept = pending.slice(0, whole);
    if (torn !== undefined && "data" in torn)
      kept.push({ offset: torn.offset, data: torn.data.subarray(0, sectorBytes * between(random, 0, Math.ceil(torn.data.length / sectorBytes))) });
    return played(durable, kept);
  }
  const keep = chooser(random);
  const kept = pending.flatMap((change) => ("data" in change ? sectorsOf(change).filter(keep) : keep() ? [change] : []));
  return played(durable, kept);
}

/** A write cut at the disk's own sector boundaries. */
function sectorsOf({ offset, data }: { readonly offset: number; readonly data: Buffer }): Change[] {
  const sectors: Change[] = [];
  for (let start = 0; start < data.length; ) {
    const end = Math.min(data.length, start + sectorBytes - ((offset + start) % sectorBytes));
    sectors.push({ offset: offset + start, data: data.subarray(start, end) });
    start = end;
  }
  return sectors;
}

/** The bytes after the changes, in a buffer of their own. What lies between the old end and a later write is zero. */
function played(content: Buffer, changes: readonly Change[]): Buffer {
  let size = content.length;
  let room = size;
  for (const change of changes) {
    if ("data" in change) size = change.data.length === 0 ? size : Math.max(size, change.offset + change.data.length);
    else size = change.size;
    room = Math.max(room, size);
  }
  const result = Buffer.alloc(room);
  content.copy(result);
  for (const change of changes) {
    if ("data" in change) change.data.copy(result, change.offset);
    else result.fill(0, change.size);
  }
  return result.subarray(0, size);
}
