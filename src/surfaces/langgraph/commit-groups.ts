import type { ThreadWrite } from "./thread-claims.ts";

/** Below the limits of one commit (128 writes, 4 MiB): a blob that is named adds two writes. */
const groupWritesMax = 100;
const groupCharactersMax = 3_145_728;

/** Splits writes, in order, into groups that fit into one commit each. The last write is in the last group. */
export function commitGroups(writes: readonly ThreadWrite[]): ThreadWrite[][] {
  const groups: ThreadWrite[][] = [];
  let room = { writes: 0, characters: 0 };
  for (const write of writes) {
    const cost = costOf(write);
    room = { writes: room.writes - cost.writes, characters: room.characters - cost.characters };
    if (room.writes < 0 || room.characters < 0) {
      groups.push([]);
      room = { writes: groupWritesMax - cost.writes, characters: groupCharactersMax - cost.characters };
    }
    groups.at(-1)?.push(write);
  }
  return groups;
}

const costOf = (write: ThreadWrite): { readonly writes: number; readonly characters: number } =>
  write.op === "delete" ? { writes: 1, characters: 0 } : { writes: 1 + 2 * (write.blobs?.length ?? 0), characters: JSON.stringify(write.value).length };
