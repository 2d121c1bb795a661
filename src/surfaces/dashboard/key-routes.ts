import type { PastVersion } from "../../domain/history/key-versions.ts";
import { readPastVersions } from "../../domain/history/key-versions.ts";
import { stateKeys } from "../../domain/keyspace.ts";
import { listFolders } from "../../domain/state/key-folders.ts";
import { listState, readState } from "../../domain/state/state.ts";
import type { StateEntry } from "../../domain/state/state-entry.ts";
import { limits } from "../../store/limits.ts";
import { fromCursor, toCursor } from "../../tools/cursor.ts";
import type { ToolBase } from "../../tools/run-tool.ts";
import type { FoldersView, KeyRow, KeysPage, KeyView, VersionView } from "./api.ts";
import type { ApiRoute } from "./api-route.ts";
import { pageSize, readQuery, requiredText, text, wholeNumber } from "./read-query.ts";
import type { RememberedCounts } from "./remembered-counts.ts";

const cursorBytesMax = 2_048;
const previewCharacters = 160;
/** Values are read a few at a time until this much text was read, so a page of large values ends early. */
const page = { charactersMax: 4_000_000, readAtOnce: 25 } as const;

const openKeys = (counts: RememberedCounts): ApiRoute => ({
  method: "GET",
  path: "/api/ns/:namespace/keys",
  needs: "read",
  async handle({ base, query }) {
    const { prefix = "", limit, cursor } = readQuery(query, { prefix: text(limits.keyBytesMax), cursor: text(cursorBytesMax), limit: pageSize({ default: 50, max: 200 }) });
    const [total, { rows, next }] = await Promise.all([
      counts.count(base, stateKeys.prefix(prefix)),
      readRows(base, prefix, limit, cursor === undefined ? undefined : fromCursor("keys", cursor)),
    ]);
    const answer: KeysPage = { keys: rows, total, ...(next === undefined ? {} : { next: toCursor("keys", next) }) };
    return { json: answer };
  },
});

async function readRows(base: ToolBase, prefix: string, limit: number, after: string | undefined): Promise<{ readonly rows: readonly KeyRow[]; readonly next?: string }> {
  const rows: KeyRow[] = [];
  let last = after;
  let left: number = page.charactersMax;
  for (;;) {
    const { entries, more } = await listState(base, { prefix, limit: Math.min(page.readAtOnce, limit - rows.length), after: last, values: true });
    for (const entry of entries) {
      const json = JSON.stringify(entry.value);
      left -= json.length;
      rows.push(toRow(entry, json));
    }
    last = rows.at(-1)?.key;
    if (!more || last === undefined) return { rows };
    if (rows.length >= limit || left <= 0) return { rows, next: last };
  }
}

const toRow = ({ key, version, updatedAtMs, expiresAtMs }: StateEntry, json: string): KeyRow => ({
  key,
  version,
  updatedAtMs,
  ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
  preview: json.length > previewCharacters ? `${json.slice(0, previewCharacters).toWellFormed()}…` : json,
});

const folders: ApiRoute = {
  method: "GET",
  path: "/api/ns/:namespace/folders",
  needs: "read",
  async handle({ base, query }) {
    const { prefix = "" } = readQuery(query, { prefix: text(limits.keyBytesMax) });
    const answer: FoldersView = await listFolders(base, prefix, 200);
    return { json: answer };
  },
};

const key: ApiRoute = {
  method: "GET",
  path: "/api/ns/:namespace/key",
  needs: "read",
  async handle({ base, query }) {
    const { key: name, before, limit } = readQuery(query, { key: requiredText(limits.keyBytesMax), before: wholeNumber(1), limit: pageSize({ default: 50, max: 200 }) });
    const [entry, past] = await Promise.all([readState(base, name), readPastVersions(base, stateKeys.key(name), { limit, before })]);
    const view: KeyView = {
      key: name,
      found: entry !== undefined,
      value: entry?.value ?? null,
      version: entry?.version ?? 0,
      ...(entry === undefined ? {} : { updatedAtMs: entry.updatedAtMs, writer: entry.updatedBy, agent: entry.agent }),
      ...(entry?.expiresAtMs === undefined ? {} : { expiresAtMs: entry.expiresAtMs }),
      versions: past.versions.map(toVersionView),
      more: past.more,
    };
    return { json: view };
  },
};

export const toVersionView = ({ version, revision, atMs, op, writer, agent, value, omitted }: PastVersion): VersionView => ({
  version,
  revision,
  atMs,
  operation: op,
  writer,
  ...(agent === undefined ? {} : { agent }),
  ...(value === undefined ? {} : { value }),
  ...(omitted ? { omitted } : {}),
});

export const openKeyRoutes = (counts: RememberedCounts): readonly ApiRoute[] => [openKeys(counts), folders, key];
