import { HoldfastError } from "../../kernel/errors.ts";
import { requireFilling, requireKept, requireSeal } from "../../store/engine-rules.ts";
import { compareKeys } from "../../store/ranges.ts";
import type { DumpPage, DumpQuery, NamespaceFacts, Seal, StoredKey, StoredLogRow, StoredRecord, StoredRequestKey } from "../../store/store.ts";
import { KeyNumbers } from "./commit-arguments.ts";
import { scriptArguments } from "./lua-script.ts";
import type { NamespaceScripts } from "./namespace-scripts.ts";
import { encodeIndex, gapsText, nul, opCode, recordText, requestText, sealText, streamPositionOf, toFacts, toIndex, toRequest, toStoredRow } from "./records.ts";
import { clearScript, dumpKeysScript, dumpLogScript, dumpRequestsScript, loadScript, sealScript } from "./redis-scripts.ts";

/** One page of the namespace's records; the scripts cut the pages. */
export async function dumpPage(scripts: NamespaceScripts, query: DumpQuery): Promise<DumpPage> {
  switch (query.part) {
    case "log":
    case "changes": {
      const reply = (await scripts.read(dumpLogScript, scriptArguments(dumpLogScript, { after: String(query.after), with_keys: query.part === "changes" ? "1" : "0" }))) as [
        string,
        string,
        string[],
        string[],
      ];
      const facts = factsOf(reply[0]);
      if (query.part === "changes") requireKept(query.after, facts);
      return { facts, records: [...rowsIn(reply[2]), ...keysIn(reply[3])], done: reply[1] === "1" };
    }
    case "keys": {
      const reply = (await scripts.read(dumpKeysScript, scriptArguments(dumpKeysScript, { min: query.after === undefined ? "-" : `(${query.after}` }))) as [
        string,
        string,
        string[],
      ];
      return { facts: factsOf(reply[0]), records: keysIn(reply[2]), done: reply[1] === "1" };
    }
    case "requests": {
      const { keptUntilMs, key } = query.after;
      const reply = (await scripts.read(dumpRequestsScript, scriptArguments(dumpRequestsScript, { kept_until: String(keptUntilMs), key: key ?? "" }))) as [
        string,
        string,
        string[],
      ];
      const isAfter = (request: StoredRequestKey): boolean => request.keptUntilMs !== keptUntilMs || key === undefined || compareKeys(request.key, key) > 0;
      return { facts: factsOf(reply[0]), records: requestsIn(reply[2]).filter(isAfter), done: reply[1] === "1" };
    }
  }
}

function factsOf(text: string): NamespaceFacts {
  const { nowMs: _now, ...facts } = toFacts(text);
  return facts;
}

const groups = (flat: readonly string[], size: number): string[][] => Array.from({ length: flat.length / size }, (_, i) => flat.slice(i * size, (i + 1) * size));

const rowsIn = (flat: readonly string[]): StoredLogRow[] => groups(flat, 3).map(([id = "", header = "", json = ""]) => toStoredRow(id, header, json));

const keysIn = (flat: readonly string[]): StoredKey[] =>
  groups(flat, 5)
    .map(
      ([key = "", present, id = "", version, index = ""]): StoredKey => ({
        kind: "key",
        key,
        ...streamPositionOf(id),
        version: Number(version),
        present: present === "1",
        ...(index === "" ? {} : { index: toIndex(index) }),
      }),
    )
    .sort((a, b) => compareKeys(a.key, b.key));

const requestsIn = (flat: readonly string[]): StoredRequestKey[] => groups(flat, 2).map(([key = "", text = ""]) => ({ kind: "request", key, ...toRequest(text) }));

/** Loads records of another store in one script: durable, and all or nothing. */
export async function loadRecords(scripts: NamespaceScripts, records: readonly StoredRecord[], facts: NamespaceFacts | undefined, by: string | undefined): Promise<void> {
  const [answer, row, newest] = (await scripts.write(loadScript, loadArguments(records, facts, by), { isMoving: true })) as [string, string?, string?];
  if (answer === "not filling") requireFilling(undefined);
  if (answer === "not yours") requireFilling({ state: "filling", progress: null }, by);
  if (answer === "order") throw new HoldfastError("invalid_input", `records: log row ${row?.replace("-", ".")} comes after ${newest?.replace("-", ".")}; rows must be in order`);
}

function loadArguments(records: readonly StoredRecord[], facts: NamespaceFacts | undefined, by: string | undefined): string[] {
  const numbers = new KeyNumbers();
  const rows = records.filter((record) => record.kind === "log");
  const keys = records.filter((record) => record.kind === "key");
  const requests = records.filter((record) => record.kind === "request");
  const args = [String(rows.length)];
  for (const { revision, seq, key, op, version, json, expiresAtMs, createdAtMs, atMs, writer, agent, record, lapse } of rows)
    args.push(
      `${revision}-${seq}`,
      numbers.of(key),
      opCode[op],
      String(version),
      expiresAtMs === undefined ? "" : String(expiresAtMs),
      String(createdAtMs),
      String(atMs),
      `${writer}${nul}${agent ?? ""}`,
      recordText(record) + nul + recordText(lapse),
      json ?? "",
    );
  args.push(String(keys.length));
  for (const { key, present, revision, seq, version, index } of keys)
    args.push(numbers.of(key), present ? "1" : "0", `${revision}-${seq}`, String(version), index === undefined ? "" : encodeIndex(index));
  args.push(String(requests.length));
  for (const { key, keptUntilMs, fingerprint, outcome } of requests) args.push(key, requestText(keptUntilMs, fingerprint, outcome));
  if (facts === undefined) args.push("");
  else args.push(...[facts.revision, facts.clockMs, facts.compacted, facts.compactedAtMs, facts.versionFloor, facts.base].map(String), gapsText(facts.gaps));
  return scriptArguments(loadScript, { by: by ?? "", key_count: String(numbers.keys.length) }, [...numbers.keys, ...args]);
}

export async function writeSeal(scripts: NamespaceScripts, seal: Seal | undefined, expected: Seal | undefined): Promise<void> {
  for (let text = sealText(expected); ; ) {
    const [answer, found = ""] = (await scripts.write(sealScript, scriptArguments(sealScript, { seal: sealText(seal), expected: text }))) as [string, string?];
    if (answer === "ok") return;
    requireSeal(found === "" ? undefined : (JSON.parse(found) as Seal), expected);
    // The same seal, with its fields in another order.
    text = found;
  }
}

/** Clears in slices, each with its own deadline. If clearing is interrupted, the seal stays. */
export async function clearAll(scripts: () => NamespaceScripts): Promise<void> {
  for (;;) {
    const [answer] = (await scripts().write(clearScript, [], { isMoving: true })) as [string];
    if (answer === "not filling") requireFilling(undefined);
    if (answer === "ok") return;
  }
}
