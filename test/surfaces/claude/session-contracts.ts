import { expect } from "vitest";
import type { ClaudeSessionEntry, ClaudeSessionStore } from "../../../src/claude.ts";

/** An entry as the SDK writes it, as far as a store may look at it. */
export const entry = (members: Readonly<Record<string, unknown>>): ClaudeSessionEntry => ({ type: "x", ...members });

const main = { projectKey: "project", sessionId: "session" };
const sub = (name: string) => ({ ...main, subpath: `subagents/agent-${name}` });
const idsOf = (sessions: readonly { readonly sessionId: string }[]): string[] => sessions.map(({ sessionId }) => sessionId).sort();

/** What the Claude Agent SDK requires of every session store. Its Python package checks the same with `run_session_store_conformance`. */
export const sessionContracts: readonly (readonly [rule: string, check: (store: ClaudeSessionStore) => Promise<void>])[] = [
  [
    "returns the entries of a batch in the order in which they were appended",
    async (store) => {
      const entries = [entry({ uuid: "b", n: 1 }), entry({ uuid: "a", n: 2, deep: { list: [1, null, "é"] } })];
      await store.append(main, entries);
      expect(await store.load(main)).toEqual(entries);
    },
  ],
  [
    "returns null for a transcript that was never written",
    async (store) => {
      expect(await store.load(main)).toBeNull();
      await store.append(main, [entry({ uuid: "a" })]);
      expect(await store.load(sub("1"))).toBeNull();
    },
  ],
  [
    "keeps batches in the order of the calls",
    async (store) => {
      for (const uuids of [["z"], ["a", "m"], ["b"]])
        await store.append(
          main,
          uuids.map((uuid) => entry({ uuid })),
        );
      expect((await store.load(main))?.map(({ uuid }) => uuid)).toEqual(["z", "a", "m", "b"]);
    },
  ],
  [
    "changes nothing when an empty batch is appended",
    async (store) => {
      await store.append(main, []);
      expect(await store.load(main)).toBeNull();
      await store.append(main, [entry({ uuid: "a" })]);
      await store.append(main, []);
      expect(await store.load(main)).toEqual([entry({ uuid: "a" })]);
    },
  ],
  [
    "keeps a subagent's transcript apart from the main one",
    async (store) => {
      await store.append(main, [entry({ uuid: "m" })]);
      await store.append(sub("1"), [entry({ uuid: "s" })]);
      expect(await store.load(main)).toEqual([entry({ uuid: "m" })]);
      expect(await store.load(sub("1"))).toEqual([entry({ uuid: "s" })]);
    },
  ],
  [
    "keeps projects apart",
    async (store) => {
      for (const projectKey of ["a", "b"]) await store.append({ projectKey, sessionId: "same" }, [entry({ from: projectKey })]);
      for (const projectKey of ["a", "b"]) {
        expect(await store.load({ projectKey, sessionId: "same" })).toEqual([entry({ from: projectKey })]);
        expect(await store.listSessions(projectKey)).toHaveLength(1);
      }
    },
  ],
  [
    "lists the sessions of a project with the time of their last change in milliseconds",
    async (store) => {
      const beforeMs = Date.now() - 3_600_000;
      for (const sessionId of ["a", "b"]) await store.append({ projectKey: "project", sessionId }, [entry({})]);
      await store.append({ projectKey: "other", sessionId: "c" }, [entry({})]);
      const listed = await store.listSessions("project");
      expect(idsOf(listed)).toEqual(["a", "b"]);
      for (const { mtime } of listed) expect(Number.isInteger(mtime) && mtime > beforeMs).toBe(true);
      expect(await store.listSessions("never-used")).toEqual([]);
    },
  ],
  [
    "lists no subagents among the sessions",
    async (store) => {
      await store.append(main, [entry({})]);
      await store.append(sub("1"), [entry({})]);
      expect(idsOf(await store.listSessions("project"))).toEqual(["session"]);
    },
  ],
  [
    "deletes a session, and accepts the deletion of one that was never written",
    async (store) => {
      await store.delete({ projectKey: "project", sessionId: "never-written" });
      await store.append(main, [entry({ n: 1 })]);
      await store.delete(main);
      expect(await store.load(main)).toBeNull();
      await store.append(main, [entry({ n: 2 })]);
      expect(await store.load(main)).toEqual([entry({ n: 2 })]);
    },
  ],
  [
    "deletes a session's subagents with it, and nothing else",
    async (store) => {
      const others = [
        { projectKey: "project", sessionId: "session2" },
        { projectKey: "project2", sessionId: "session" },
      ];
      for (const key of [main, sub("1"), sub("2"), ...others]) await store.append(key, [entry({})]);
      await store.delete(main);
      for (const key of [main, sub("1"), sub("2")]) expect(await store.load(key)).toBeNull();
      for (const key of others) expect(await store.load(key)).toHaveLength(1);
      expect(await store.listSubkeys(main)).toEqual([]);
      expect(idsOf(await store.listSessions("project"))).toEqual(["session2"]);
    },
  ],
  [
    "deletes one subagent's transcript alone",
    async (store) => {
      for (const key of [main, sub("1"), sub("2")]) await store.append(key, [entry({})]);
      await store.delete(sub("1"));
      expect(await store.load(sub("1"))).toBeNull();
      for (const key of [main, sub("2")]) expect(await store.load(key)).toHaveLength(1);
      expect(await store.listSubkeys(main)).toEqual(["subagents/agent-2"]);
    },
  ],
  [
    "lists a session's subagents",
    async (store) => {
      for (const key of [main, sub("1"), sub("2"), { ...sub("3"), sessionId: "other" }]) await store.append(key, [entry({})]);
      expect((await store.listSubkeys(main)).sort()).toEqual(["subagents/agent-1", "subagents/agent-2"]);
    },
  ],
  [
    "lists no subagent for a session that has only its main transcript or does not exist",
    async (store) => {
      await store.append(main, [entry({})]);
      expect(await store.listSubkeys(main)).toEqual([]);
      expect(await store.listSubkeys({ projectKey: "project", sessionId: "never-written" })).toEqual([]);
    },
  ],
  [
    "keeps the SDK's summary of a session up to date, and subagents out of it",
    async (store) => {
      const summaries = () => (store.listSessionSummaries as NonNullable<typeof store.listSessionSummaries>)("project");
      await store.append(main, [entry({ title: "first" }), entry({})]);
      await store.append(main, [entry({ title: "second" })]);
      await store.append({ projectKey: "other", sessionId: "elsewhere" }, [entry({ title: "other" })]);
      const [summary, ...more] = await summaries();
      expect({ summary, more }).toMatchObject({ summary: { sessionId: "session", data: { title: "second", entries: 3 } }, more: [] });
      expect(summary?.mtime).toBe((await store.listSessions("project"))[0]?.mtime);
      await store.append(sub("1"), [entry({ title: "subagent" })]);
      expect((await summaries())[0]?.data).toEqual(summary?.data);
      await store.delete(main);
      expect(await summaries()).toEqual([]);
    },
  ],
];
