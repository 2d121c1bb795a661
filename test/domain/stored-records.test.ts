import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../src/kernel/json.ts";
import { keyRange, prefixRange } from "../../src/store/ranges.ts";
import type { Store } from "../../src/store/store.ts";
import type { TestTools } from "../tools/open-tools.ts";
import { openTools } from "../tools/open-tools.ts";

interface Kind {
  readonly kind: string;
  /** Stores one of the kind. */
  readonly make: (tools: TestTools) => Promise<unknown>;
  /** How its key begins. */
  readonly prefix: string;
  /** The members a record cannot be without; none: the record is not an object with members of its own. */
  readonly members: readonly string[];
  /** Reads it. */
  readonly read: readonly [tool: string, args: JsonObject];
}

const run = (tools: TestTools): Promise<unknown> => tools.call("workflow_create", { name: "job", run_id: "r", tags: { a: "1", b: "2" } });
const claim = async (tools: TestTools): Promise<unknown> => {
  await run(tools);
  return tools.call("workflow_claim", { run_id: "r", agent_id: "a" });
};
const lease = (tools: TestTools): Promise<unknown> => tools.call("lease_acquire", { resource_id: "deploy", holder_id: "h", ttl_seconds: 60 });
const note = (tools: TestTools): Promise<unknown> => tools.call("save_knowledge", { id: "n", content: "the deploy key is in the vault" });
const entry = (tools: TestTools): Promise<unknown> => tools.call("checkpoint", { description: "fixed the parser", highlights: ["found it"], workspace: "w", sessionId: "s" });
const research = (tools: TestTools): Promise<unknown> => tools.call("save_checkpoint", { core_question: "why?", thesis: "because", confidence: 0.5 });

const kinds: readonly Kind[] = [
  {
    kind: "lease, its holder",
    make: lease,
    prefix: "lease/holder/",
    members: ["holder", "ttlMs"],
    read: ["lease_renew", { resource_id: "deploy", holder_id: "h", ttl_seconds: 60 }],
  },
  {
    kind: "lease, its deadline",
    make: lease,
    prefix: "lease/deadline/",
    members: ["holder", "ttlMs"],
    read: ["lease_renew", { resource_id: "deploy", holder_id: "h", ttl_seconds: 60 }],
  },
  { kind: "claim", make: claim, prefix: "lease/holder/workflow/", members: ["holder", "ttlMs"], read: ["workflow_status", { run_id: "r" }] },
  {
    kind: "run",
    make: run,
    prefix: "workflow/run/",
    members: ["name", "tags", "priority", "status", "lastStep", "attempts", "createdAtMs", "place", "formerAgents"],
    read: ["workflow_status", { run_id: "r" }],
  },
  { kind: "run in a list", make: run, prefix: "workflow/run/", members: ["status"], read: ["workflow_list", {}] },
  { kind: "run in line", make: run, prefix: "workflow/ready-tag/", members: [], read: ["workflow_claim", { agent_id: "a", tags: { a: "1", b: "2" } }] },
  { kind: "note", make: note, prefix: "knowledge/note/", members: ["content", "keywords", "status", "trust"], read: ["recall_knowledge", { query: "deploy key" }] },
  { kind: "note that is replaced", make: note, prefix: "knowledge/note/", members: ["trust"], read: ["save_knowledge", { id: "n", content: "another" }] },
  {
    kind: "journal entry",
    make: entry,
    prefix: "journal/entry/",
    members: ["description", "highlights", "activeFiles", "tags", "sessionId", "workspace", "global", "createdAtMs"],
    read: ["checkpoint", { workspace: "w" }],
  },
  { kind: "highlights of a session", make: entry, prefix: "journal/session/", members: [], read: ["checkpoint", { workspace: "w" }] },
  {
    kind: "research checkpoint",
    make: research,
    prefix: "research/checkpoint/",
    members: ["coreQuestion", "thesis", "confidence", "trigger", "openQuestions", "sources", "tensions", "uniqueContributions", "savedAtMs"],
    read: ["load_checkpoint", { checkpoint_id: "because" }],
  },
  {
    kind: "research checkpoint in a list",
    make: research,
    prefix: "research/list/",
    members: ["id", "thesis", "confidence", "trigger", "savedAtMs"],
    read: ["list_checkpoints", {}],
  },
  {
    kind: "session",
    make: (tools) => tools.call("session_save", { session_id: "s", context: { a: 1 } }),
    prefix: "session/",
    members: [],
    read: ["session_restore", { session_id: "s" }],
  },
  { kind: "workspace", make: entry, prefix: "workspace/id/", members: ["name"], read: ["checkpoint", { workspace: "w", description: "more" }] },
];

/** Writes the one record under the prefix anew, with its text for search as it was. */
async function replace(store: Store, prefix: string, change: (value: Json) => Json): Promise<string> {
  const [found] = (await store.read(prefixRange(prefix))).entries;
  if (found === undefined) throw new Error(`nothing is stored under ${prefix}`);
  const ttlMs = found.expiresAtMs === undefined ? undefined : found.expiresAtMs - found.updatedAtMs;
  const isFindable = /^(knowledge|journal\/entry|research\/checkpoint)\//.test(found.key);
  const index = isFindable
    ? {
        area: found.key.startsWith("knowledge/") ? "knowledge" : "other",
        length: 2,
        terms: [
          ["deploy", 100],
          ["key", 100],
        ] as const,
      }
    : undefined;
  await store.commit({ writer: "somebody", writes: [{ op: "put", key: found.key, value: change(found.value), ttlMs, index }] });
  return found.key;
}

describe.each(kinds)("a stored $kind", ({ make, prefix, members, read: [tool, args] }) => {
  const damages: readonly (readonly [string, (value: Json) => Json, string | undefined])[] = [
    ["that is not what it should be", () => 7, undefined],
    ...members.flatMap((member) => [
      [`without its ${member}`, (value: Json): Json => Object.fromEntries(Object.entries(value as JsonObject).filter(([name]) => name !== member)), member] as const,
      [`whose ${member} is of another kind`, (value: Json): Json => ({ ...(value as JsonObject), [member]: { of: "another kind", n: [1] } }), member] as const,
    ]),
  ];

  test.each(damages)("%s is damaged: the answer names its key", async (_, damage, member) => {
    const tools = openTools();
    await make(tools);
    const key = await replace(tools.base.store, prefix, damage);
    const failure = await tools.fails(tool, args);
    expect(failure).toMatchObject({ code: "store_damaged", details: { key, ...(member === undefined ? {} : { member }) } });
    expect(failure.message).toContain(JSON.stringify(key));
    expect((await tools.base.store.read(keyRange(key))).entries).toHaveLength(1);
  });

  test("as it is written is read, and so is one with members that a later version may add", async () => {
    const tools = openTools();
    await make(tools);
    await replace(tools.base.store, prefix, (value) => (members.length === 0 ? value : { ...(value as JsonObject), addedLater: { n: 1 } }));
    expect(await tools.outcome(tool, args)).toMatchObject({ ok: true });
  });
});

test("history shows a damaged record as it is stored", async () => {
  const tools = openTools();
  await run(tools);
  await tools.base.store.commit({ writer: "somebody", writes: [{ op: "put", key: "workflow/run/r", value: { name: 7 }, record: { kind: "workflow", op: "set", subject: "r" } }] });
  expect((await tools.call("history_log")).entries[0]).toMatchObject({ key: "r", new_value: { name: 7 }, previous_value: { name: "job", status: "created" } });
});
