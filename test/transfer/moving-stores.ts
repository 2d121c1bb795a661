import { indexText } from "../../src/search/index-text.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { Engine } from "../../src/store/store.ts";
import type { MoveOptions } from "../../src/transfer/stores/move-namespace.ts";
import type { ManualClock } from "../support/manual-clock.ts";

export const namespace = "team";

/** A namespace with enough of everything for several pages: history, deletions, expiries, texts, request keys. */
export async function fillNamespace(engine: Engine, clock: ManualClock, commits: number, name = namespace): Promise<void> {
  const store = openNamespaceStore(engine, name, clock);
  const pending: Promise<unknown>[] = [];
  for (let i = 0; i < commits; i += 1) {
    clock.advance(1);
    const key = `k/${(i * 7) % 311}`;
    const write = i % 13 === 5 ? { op: "delete" as const, key } : { op: "put" as const, key, value: { i, text: `value ${i}` }, ...extras(i) };
    pending.push(store.commit({ writer: "filler", writes: [write], ...(i % 3 === 0 ? { request: { key: `r${i}`, fingerprint: "f", note: i } } : {}) }));
    if (pending.length === 200) await Promise.all(pending.splice(0));
  }
  await Promise.all(pending);
}

const extras = (i: number) => ({
  ...(i % 5 === 0 ? { index: indexText("notes", [{ text: `note number ${i} about moving`, weight: 1 }]) } : {}),
  ...(i % 11 === 0 ? { ttlMs: 50, lapse: { kind: "state", op: "lapse", subject: String(i) } } : {}),
  record: { kind: "state", op: "set", subject: String(i) },
});

export const moveOptions = (source: Engine, destination: Engine, clock: ManualClock, rest: Partial<MoveOptions> = {}): MoveOptions => ({
  source: { engine: source, namespace },
  destination: { engine: destination, namespace },
  by: "test",
  clock,
  staysOpen: false,
  destinationName: "memory:there",
  ...rest,
});
