import type { DumpPage, Engine, Revision, StoredKey, StoredLogRow, StoredRecord, StoredRequestKey } from "../../store/store.ts";

/** Where a walk through request keys starts: at those that expire at this time or later, or after a given one of them. */
export type RequestPlace = { readonly keptUntilMs: number; readonly key?: string };

export const firstRequest: RequestPlace = { keptUntilMs: 0 };

/** An engine in this process reads a page without yielding the thread, so other work gets a turn before each. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Page<R extends StoredRecord> extends DumpPage {
  readonly records: readonly R[];
}

/** The log after a revision, page by page; each page is read at a different moment. */
export async function* logPages(engine: Engine, namespace: string, after = 0): AsyncGenerator<Page<StoredLogRow>> {
  for (let from = after; ; ) {
    await turn();
    const page = (await engine.dump(namespace, { part: "log", after: from })) as Page<StoredLogRow>;
    yield page;
    if (page.done) return;
    from = (page.records.at(-1) as StoredLogRow).revision;
  }
}

export async function* keyPages(engine: Engine, namespace: string, after?: string): AsyncGenerator<Page<StoredKey>> {
  for (let from = after; ; ) {
    await turn();
    const page = (await engine.dump(namespace, { part: "keys", after: from })) as Page<StoredKey>;
    yield page;
    if (page.done) return;
    from = (page.records.at(-1) as StoredKey).key;
  }
}

export async function* requestPages(engine: Engine, namespace: string, from: RequestPlace = firstRequest): AsyncGenerator<Page<StoredRequestKey>> {
  for (let after = from; ; ) {
    await turn();
    const page = (await engine.dump(namespace, { part: "requests", after })) as Page<StoredRequestKey>;
    yield page;
    if (page.done) return;
    const { keptUntilMs, key } = page.records.at(-1) as StoredRequestKey;
    after = { keptUntilMs, key };
  }
}

/** Changes after a revision: log rows, followed by the keys they affect. */
export async function* changePages(engine: Engine, namespace: string, after: Revision): AsyncGenerator<Page<StoredLogRow | StoredKey> & { readonly through: Revision }> {
  for (let from = after; ; ) {
    await turn();
    const page = (await engine.dump(namespace, { part: "changes", after: from })) as Page<StoredLogRow | StoredKey>;
    from = page.done ? page.facts.revision : (page.records.findLast(({ kind }) => kind === "log") as StoredLogRow).revision;
    yield { ...page, through: from };
    if (page.done) return;
  }
}

/** The records of all pages, one by one. */
export async function* recordsOf<R>(pages: AsyncIterable<{ readonly records: readonly R[] }>): AsyncGenerator<R> {
  for await (const { records } of pages) yield* records;
}
