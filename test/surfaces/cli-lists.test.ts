import { describe, expect, test } from "vitest";
import { openCommandLine } from "../support/cli-host.ts";

const onTerminal = (columns: number) => openCommandLine({ terminal: true, columns, environment: { NO_COLOR: "1" } });
type CommandLine = ReturnType<typeof openCommandLine>;

async function fill({ run }: CommandLine): Promise<void> {
  await run(["knowledge", "save", "api-limits", "# Limits of the API\n\nSixty requests a minute, and bursts of ten.", "--question", "How often may I call the API?"]);
  await run(["knowledge", "save", "zurich-office", "Das Büro in Zürich öffnet um acht.", "--skill", "travel", "--keyword", "opening"]);
  await run(["session", "save", "chat-1", '{"topic": "release"}', "--agent", "writer-with-a-name"]);
  await run(["session", "save", "chat-2", '{"topic": "tests"}', "--ttl", "2h"]);
  await run(["lease", "acquire", "deploy/production", "--ttl", "10m", "--agent", "builder-1"]);
  await run(["set", "k", "1"]);
  await run(["set", "k", "1", "--namespace", "team-b"]);
  await run(["checkpoint", "Moved the cache to the edge because the origin was slow under load", "--workspace", "shop"]);
  await run(["checkpoint", "Wrote the release notes", "--workspace", "site"]);
}

describe("lists", () => {
  test.each([
    [80, ["knowledge", "list"], "id status saved title"],
    [120, ["knowledge", "list"], "id status saved title questions trust by"],
    [80, ["session", "list"], "session id version changed by expires"],
    [80, ["lease", "list"], "resource holder ends token held since"],
    [80, ["namespace", "list"], "namespace revision keys runs notes journal current"],
    [80, ["workspace", "list"], "name workspace id last entry description"],
    [120, ["workspace", "list"], "name workspace id last entry description"],
  ] as const)("at %i columns %j is a table that begins with %s", async (columns, args, beginning) => {
    const line = onTerminal(columns);
    await fill(line);
    const { code, stdout } = await line.run(args);
    const [header = "", ...rows] = stdout.trimEnd().split("\n");
    expect(code).toBe(0);
    expect(header.split(/\s{2,}/).join(" ")).toMatch(new RegExp(`^${beginning}`));
    expect(rows.length).toBeGreaterThan(0);
    expect(stdout.split("\n").filter((each) => each.length > columns)).toEqual([]);
  });

  test("--json has every field, also those that the table has no room for", async () => {
    const line = openCommandLine();
    await fill(line);
    expect(await line.json("knowledge", "list")).toMatchObject({
      notes: [
        { name: "@travel/zurich-office", scope: "skill:travel", keywords: ["opening"], title: "Das Büro in Zürich öffnet um acht." },
        { name: "api-limits", status: "active", title: "Limits of the API", questions: ["How often may I call the API?"] },
      ],
      cursor: null,
    });
    expect(await line.json("session", "list")).toMatchObject({
      sessions: [
        { session_id: "chat-1", version: 1, expires_at: null },
        { session_id: "chat-2", version: 1, expires_at: line.clock.nowMs() / 1_000 + 7_200 },
      ],
    });
    expect(await line.json("lease", "list")).toMatchObject({ leases: [{ resource_id: "deploy/production", holder: "builder-1", token: expect.any(Number), waiting: [] }] });
    expect(await line.json("namespace", "list", "--namespace", "team-b")).toMatchObject({
      namespaces: [
        { namespace: "default", keys: 1, notes: 2, journal: 2, current: false },
        { namespace: "team-b", revision: 1, keys: 1, current: true },
      ],
    });
    const { workspaces } = (await line.json("workspace", "list")) as { workspaces: { name: string; last_entry: string; workspace_id: string }[] };
    expect(new Map(workspaces.map(({ name, last_entry }) => [name, last_entry]))).toEqual(
      new Map([
        ["shop", "Moved the cache to the edge because the origin was slow under load"],
        ["site", "Wrote the release notes"],
      ]),
    );
  });

  test("a workspace is listed with its own newest entry, not with one for every workspace", async () => {
    const line = openCommandLine();
    await fill(line);
    line.clock.advance(1_000);
    await line.run(["checkpoint", "Everybody should know this", "--workspace", "site", "--global"]);
    await line.run(["checkpoint", "Fixed the notes", "--workspace", "site"]);
    line.clock.advance(1_000);
    await line.run(["checkpoint", "And this", "--workspace", "shop", "--global"]);
    const { workspaces } = (await line.json("workspace", "list")) as { workspaces: { name: string; last_entry: string }[] };
    expect(workspaces.find(({ name }) => name === "site")?.last_entry).toBe("Fixed the notes");
    expect(workspaces.find(({ name }) => name === "shop")?.last_entry).toMatch(/^Moved the cache/);
  });

  test.each([
    ["knowledge", "notes", "name"],
    ["session", "sessions", "session_id"],
    ["lease", "leases", "resource_id"],
    ["namespace", "namespaces", "namespace"],
    ["workspace", "workspaces", "workspace_id"],
  ])("the pages of %s list together are the whole list, each once", async (group, field, id) => {
    const line = openCommandLine();
    await fill(line);
    await line.run(["lease", "acquire", "another", "--agent", "builder-2"]);
    const idsOf = (page: Record<string, unknown>) => (page[field] as Record<string, unknown>[]).map((item) => item[id]);
    const whole = idsOf(await line.json(group, "list"));
    expect(whole.length).toBe(2);
    const first = await line.json(group, "list", "--limit", "1");
    const second = await line.json(group, "list", "--limit", "1", "--cursor", String(first.cursor));
    expect([...idsOf(first), ...idsOf(second)]).toEqual(whole);
    expect(second.cursor).toBeNull();
    expect((await line.run([group, "list", "--limit", "1"])).stdout).toMatch(/^1 shown\. Next page: --cursor \S+$/m);
  });

  test("--long shows every field of each record", async () => {
    const line = onTerminal(80);
    await fill(line);
    const { stdout } = await line.run(["lease", "list", "--long"]);
    for (const field of ["resource id", "holder", "token", "held since at", "expires at"]) expect(stdout).toMatch(new RegExp(`^${field} +\\S`, "m"));
    expect((await line.run(["workspace", "list", "--long"])).stdout.replaceAll(/\s+/g, " ")).toContain("because the origin was slow under load");
  });

  test.each([
    [["knowledge", "list"], "No notes yet. Save one: holdfast knowledge save ID TEXT\n"],
    [["knowledge", "list", "zzz"], "No notes match.\n"],
    [["knowledge", "list", "--status", "archived"], "No notes match.\n"],
    [["session", "list"], "No sessions yet. Save one: holdfast session save ID CONTEXT\n"],
    [["lease", "list"], "No lease is held now. Take one: holdfast lease acquire NAME\n"],
    [["namespace", "list"], "No namespaces yet. The first write makes one: holdfast set KEY VALUE\n"],
    [["workspace", "list"], "No workspaces yet. Save an entry in one: holdfast checkpoint DESCRIPTION\n"],
  ])("%j with nothing to list says what would fill it", async (args, text) => {
    expect(await openCommandLine().run(args)).toMatchObject({ code: 0, stdout: text });
  });

  test.each([
    [["lease", "list", "deploy"], /lease list: takes no argument/],
    [["knowledge", "list", "a", "b"], /knowledge list: takes one argument at most, \[prefix\]/],
    [["knowledge", "list", "--status", "activ"], /--status: must be one of .*did you mean active\?/],
    [["session", "list", "--limit", "0"], /--limit: must be a whole number from 1 to 100 \(got "0"\)/],
    [["session", "list", "--cursor", "nonsense"], /cursor: must be the cursor of the previous page/],
    [["journal", "today", "x"], /journal today: takes no argument/],
  ])("%j is refused", async (args, message) => {
    expect(await openCommandLine().run(args)).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(message) });
  });
});

describe("one note", () => {
  test("show prints the facts and the whole text, and cannot steer the terminal", async () => {
    const line = onTerminal(80);
    await line.run(["knowledge", "save", "n", "First line\n\nSecond \u001b[31mline", "--keyword", "word", "--question", "What is first?", "--source", "a book"]);
    const { code, stdout } = await line.run(["knowledge", "show", "n"]);
    expect(code).toBe(0);
    for (const fact of [/^name +n$/m, /^status +active$/m, /^source +a book$/m, /^keywords +word$/m, /^questions +What is first\?$/m]) expect(stdout).toMatch(fact);
    expect(stdout).toMatch(/\n\nFirst line\n\nSecond \\u001b\[31mline\n$/);
    expect(await line.json("knowledge", "show", "n")).toMatchObject({ content: "First line\n\nSecond \u001b[31mline", version: 1 });
  });

  test("deprecate keeps the note and takes it out of recall; a second time changes nothing", async () => {
    const line = openCommandLine();
    await fill(line);
    const recalled = async () => ((await line.json("knowledge", "recall", "how often may I call the API")) as { items: unknown[] }).items.length;
    expect(await recalled()).toBe(1);
    expect(await line.run(["knowledge", "deprecate", "api-limits"])).toMatchObject({ code: 0, stdout: 'Note "api-limits" is deprecated (version 2).\n' });
    expect(await recalled()).toBe(0);
    expect(await line.json("knowledge", "show", "api-limits")).toMatchObject({ status: "deprecated", version: 2, questions: ["How often may I call the API?"] });
    expect(await line.run(["knowledge", "deprecate", "api-limits"])).toMatchObject({ code: 0, stdout: 'Note "api-limits" was deprecated already.\n' });
    expect(await line.json("knowledge", "deprecate", "@travel/zurich-office")).toEqual({ name: "@travel/zurich-office", status: "deprecated", version: 2, path: null });
  });

  test.each(["show", "deprecate"])("%s of a note that is not there says where to look", async (verb) => {
    expect(await openCommandLine().run(["knowledge", verb, "nothing"])).toMatchObject({ code: 3, stderr: expect.stringMatching(/no note "nothing".*holdfast knowledge list/s) });
    expect(await openCommandLine().run(["knowledge", verb])).toMatchObject({ code: 2, stderr: expect.stringContaining("<id>: must be the id of one note") });
  });

  test("deprecate is refused where the command was started read-only", async () => {
    const line = openCommandLine();
    await fill(line);
    expect((await line.run(["knowledge", "deprecate", "api-limits", "--read-only"])).stderr).toContain("read-only");
    expect(await line.json("knowledge", "show", "api-limits")).toMatchObject({ status: "active" });
  });
});

describe("journal today", () => {
  test("shows what was saved today and nothing from before", async () => {
    const line = openCommandLine();
    await line.run(["checkpoint", "Long ago", "--workspace", "shop"]);
    line.clock.advance(3 * 86_400_000);
    await line.run(["checkpoint", "Just now in Zürich", "--workspace", "shop"]);
    const { code, stdout } = await line.run(["journal", "today", "--workspace", "shop"]);
    expect(code).toBe(0);
    expect(stdout).toContain("Just now in Zürich");
    expect(stdout).not.toContain("Long ago");
    expect(await line.json("journal", "today", "--workspace", "shop")).toMatchObject({
      operation: "timeline",
      data: { range: "today", checkpoints: [{ description: "Just now in Zürich" }] },
    });
  });

  test("reading the journal is no write: it works where the command was started read-only", async () => {
    const line = openCommandLine();
    await fill(line);
    for (const args of [["journal", "today"], ["checkpoint", "--query", "cache"], ["checkpoint"]])
      expect(await line.run([...args, "--workspace", "shop", "--read-only"])).toMatchObject({ code: 0, stdout: expect.stringContaining("cache") });
    expect((await line.run(["checkpoint", "A save", "--workspace", "shop", "--read-only"])).stderr).toContain("read-only");
  });
});

test("completion offers the new words and the values of their flags", async () => {
  const { stdout } = await openCommandLine().run(["completion", "bash"]);
  expect(stdout).toMatch(/"knowledge"\) words="[^"]*list show deprecate/);
  expect(stdout).toMatch(/"knowledge list"\*" --status"\) words="active deprecated archived"/);
  for (const group of ["session", "lease", "namespace", "workspace"]) expect(stdout).toMatch(new RegExp(`"${group}"\\) words="[^"]*\\blist\\b`));
});
