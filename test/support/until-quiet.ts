import { isDeepStrictEqual } from "node:util";

/** Plenty for any chain of work within this process, loopback connections to itself included. */
const quietTurns = 200;

/** Resolves when what is looked at has not changed for many turns of the event loop, and gives it: everything that could happen without anybody else has happened. */
export async function untilQuiet<T>(look: () => T): Promise<T> {
  let last = look();
  for (let turns = 0; turns < quietTurns; turns += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    const now = look();
    if (isDeepStrictEqual(now, last)) continue;
    last = now;
    turns = 0;
  }
  return last;
}
