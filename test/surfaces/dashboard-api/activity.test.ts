import { describe, expect, test } from "vitest";
import type { ActivityAnswer, ActivityItem } from "../../../src/surfaces/dashboard/api.ts";
import { workAsTeam, writeJournal } from "./busy-team.ts";
import { openMemoryApi, refusalOf } from "./open-api.ts";

const path = "/api/ns/team/activity";
const words = ({ operation, title, subject, agent, writer }: ActivityItem): string => `${agent ?? writer} ${operation} ${title ?? subject}`;

async function openBusy() {
  const api = openMemoryApi();
  await workAsTeam(api, api.clock);
  return api;
}

describe("activity", () => {
  test("tells what was done in words, newest first, runs by their names and how they ended", async () => {
    const api = await openBusy();
    await api.engine.sweep("team", 100);
    const { items, next } = await api.get<ActivityAnswer>(path);
    expect(next).toBeUndefined();
    expect(items.map(words)).toEqual([
      "holdfast expired cache",
      "fleet saved Why is it slow?",
      "fleet saved @deploy/window",
      "fleet saved ports",
      "fleet saved a session",
      "worker-2 acquired deploy",
      "worker-1 released deploy",
      "worker-1 acquired deploy",
      "worker-2 done nightly import",
      "worker-2 step 2 nightly import",
      "worker-2 claimed nightly import",
      "holdfast claim lapsed nightly import",
      "worker-1 step 1 nightly import",
      "worker-1 claimed nightly import",
      "fleet created link check",
      "fleet created nightly import",
      "worker-1 set cache",
      "worker-1 set config/limits",
      "worker-2 set config/flags",
      "worker-1 set config/flags",
    ]);
  });

  test("comes page by page, each revision whole, until nothing is left", async () => {
    const api = await openBusy();
    await api.agent("state_commit", { writes: [1, 2, 3].map((n) => ({ key: `together/${n}`, value: n })) });
    const whole = (await api.get<ActivityAnswer>(path, { limit: "200" })).items;
    for (const limit of [1, 2, 5]) {
      const seen: ActivityItem[] = [];
      let before: number | undefined;
      do {
        const page: ActivityAnswer = await api.get(path, { limit: String(limit), ...(before === undefined ? {} : { before: String(before) }) });
        seen.push(...page.items);
        before = page.next;
      } while (before !== undefined);
      expect(seen).toEqual(whole);
    }
  });

  test("can be filtered by kind, by the beginning of a name and by agent; renewals are listed only on request", async () => {
    const api = await openBusy();
    const list = async (query: Record<string, string>) => (await api.get<ActivityAnswer>(path, query)).items.map(words);
    expect(await list({ kind: "lease" })).toEqual(["worker-2 acquired deploy", "worker-1 released deploy", "worker-1 acquired deploy"]);
    expect(await list({ kind: "lease", heartbeats: "true" })).toContain("worker-1 renewed deploy");
    expect(await list({ subject: "config/" })).toEqual(["worker-1 set config/limits", "worker-2 set config/flags", "worker-1 set config/flags"]);
    expect(await list({ subject: "imp", who: "worker-1" })).toEqual(["worker-1 step 1 nightly import", "worker-1 claimed nightly import"]);
    expect(await list({ who: "worker" })).toEqual([]);
    const [item] = (await api.get<ActivityAnswer>(path, { kind: "lease", heartbeats: "true", limit: "200" })).items.filter(({ heartbeat }) => heartbeat);
    expect(item).toMatchObject({ operation: "renewed" });
  });

  test("says of a checkpoint whether it stands in the journal or in research", async () => {
    const api = openMemoryApi();
    await writeJournal(api, "Raised the limit.\nAnd more.", "shop");
    await api.agent("save_checkpoint", { core_question: "Why?", thesis: "Because.", confidence: 1 });
    expect((await api.get<ActivityAnswer>(path)).items.map(({ written, title }) => [written, title])).toEqual([
      ["research", "Why?"],
      ["journal", "Raised the limit."],
    ]);
  });

  test("gives hostile names and texts as they are: plain strings for the page to show as text", async () => {
    const api = openMemoryApi();
    const hostile = `<img src=x onerror=alert(1)>"'&\u202e`;
    await api.agent("state_set", { key: hostile, value: hostile, agent_id: hostile });
    const { items } = await api.get<ActivityAnswer>(path);
    expect(items).toMatchObject([{ subject: hostile, agent: hostile }]);
    expect(await api.get("/api/ns/team/key", { key: hostile })).toMatchObject({ value: hostile, versions: [{ value: hostile }] });
  });
});

describe("a wrong question", () => {
  const wrong: [string, string, Record<string, string | string[]>, RegExp][] = [
    ["an unknown parameter", "activity", { limt: "5" }, /^limt: unknown parameter; allowed: before, limit, kind, subject, who, heartbeats$/],
    ["a parameter that stands twice", "activity", { limit: ["5", "6"] }, /^limit: must be given once$/],
    ["a limit that is too high", "activity", { limit: "201" }, /^limit: must be a whole number from 1 to 200$/],
    ["a limit of nothing", "keys", { limit: "0" }, /^limit: must be a whole number from 1 to 200$/],
    ["a limit that is no number", "keys", { limit: "1e2" }, /^limit: must be a whole number/],
    ["an unknown kind", "activity", { kind: "other" }, /^kind: must be one of state, lease, workflow, effect, session, checkpoint, knowledge$/],
    ["an unknown status", "runs", { status: "open" }, /^status: must be one of created, claimed, running, done, failed, cancelled$/],
    ["a tag without a value", "runs", { tag: "team" }, /^tag: must be NAME=VALUE$/],
    ["another list's cursor", "keys", { cursor: Buffer.from("runs x").toString("base64url") }, /^cursor: must be the cursor of the previous page/],
    ["a cursor made by hand", "runs", { cursor: "x" }, /^cursor: /],
    ["no key", "key", {}, /^key: required$/],
    ["a key that is too long", "key", { key: "k".repeat(513) }, /^key: must be at most 512 bytes/],
    ["a run's id that cannot be one", "run", { id: "a/b" }, /^id: must be 1 to 128 letters/],
    ["a note's name that cannot be one", "note", { name: "@x" }, /^name: must begin with a letter/],
    ["nothing to search for", "search", { q: "" }, /^q: required$/],
    ["a position in the events that cannot be one", "events", { after: "now" }, /^after: must be a revision/],
    ["a parameter that the view does not take", "overview", { fast: "1" }, /^fast: unknown parameter; allowed: range$/],
  ];
  test.each(wrong)("%s is refused and named", async (_what, view, query, words_) => {
    const refusal = await refusalOf(openMemoryApi().get(`/api/ns/team/${view}`, query));
    expect(refusal.code).toBe("invalid_input");
    expect(refusal.message).toMatch(words_);
    expect(refusal.details?.field).toBe(refusal.message.split(":")[0]);
  });

  test("a run that does not exist is not found", async () => {
    expect(await refusalOf(openMemoryApi().get("/api/ns/team/run", { id: "none" }))).toMatchObject({ code: "not_found" });
  });
});
