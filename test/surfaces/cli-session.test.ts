import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { terminalSession } from "../../src/config.ts";
import { openCommandLine } from "../support/cli-host.ts";
import { buildExecutable, startProgram } from "../support/cli-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

type Saved = { readonly data: { readonly sessionId: string; readonly sessionHighlights: number } };

describe("which terminal a command belongs to", () => {
  const stat = ({ pid = 100, session = 40, terminal = 34816, startedAt = 5_000 } = {}): string =>
    `${pid} (a) b (c)) S 1 ${pid} ${session} ${terminal} -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 ${startedAt} 2998272 382`;
  const files = (own: string, leaders: Record<number, string>, boot = "boot-1\n") => {
    const known: Record<string, string> = {
      "/proc/self/stat": own,
      "/proc/sys/kernel/random/boot_id": boot,
      ...Object.fromEntries(Object.entries(leaders).map(([pid, line]) => [`/proc/${pid}/stat`, line])),
    };
    return (path: string): string | undefined => known[path];
  };
  const leader = { 40: stat({ pid: 40, startedAt: 900 }) };

  test("two commands of one terminal have one session", () => {
    const first = terminalSession(files(stat({ pid: 100, startedAt: 5_000 }), leader), {});
    expect(first).toMatch(/^session-[0-9a-f]{12}$/);
    expect(terminalSession(files(stat({ pid: 222, startedAt: 7_000 }), leader), {})).toBe(first);
  });

  test("another terminal, a later one with the same number and one after a restart have others", () => {
    const sessions = [
      terminalSession(files(stat(), leader), {}),
      terminalSession(files(stat({ session: 41 }), { 41: stat({ pid: 41, startedAt: 900 }) }), {}),
      terminalSession(files(stat(), { 40: stat({ pid: 40, startedAt: 901 }) }), {}),
      terminalSession(files(stat(), leader, "boot-2\n"), {}),
    ];
    expect(new Set(sessions).size).toBe(4);
  });

  test("without a terminal, without a leader or outside of the container there is none", () => {
    expect(terminalSession(files(stat({ terminal: 0 }), leader), {})).toBeUndefined();
    expect(terminalSession(files(stat(), {}), {})).toBeUndefined();
    expect(terminalSession(files(stat({ session: 0 }), leader), {})).toBeUndefined();
  });

  test("where the system has no such files, the terminal program's own word counts", () => {
    const nothing = () => undefined;
    expect(terminalSession(nothing, {})).toBeUndefined();
    const one = terminalSession(nothing, { TERM_SESSION_ID: "w0t1p0:1" });
    expect(one).toMatch(/^session-[0-9a-f]{12}$/);
    expect(terminalSession(nothing, { TERM_SESSION_ID: "w0t2p0:2" })).not.toBe(one);
    expect(terminalSession(nothing, { WT_SESSION: "w0t1p0:1" })).toBe(one);
  });
});

describe("highlights gather", () => {
  const save = (line: ReturnType<typeof openCommandLine>, highlight: string): Promise<unknown> =>
    line.json("checkpoint", `Found ${highlight}`, "--highlight", highlight, "--workspace", "shop");

  test("over the commands of one terminal, also past midnight", async () => {
    const line = openCommandLine({ session: "session-a" });
    expect(await save(line, "one")).toMatchObject({ data: { sessionId: "session-a", sessionHighlights: 1 } });
    line.clock.advance(86_400_000);
    expect(await save(line, "two")).toMatchObject({ data: { sessionId: "session-a", sessionHighlights: 2 } });
    expect(await line.json("checkpoint", "--workspace", "shop")).toMatchObject({ data: { highlights: ["one", "two"] } });
  });

  test("without a terminal, over one day", async () => {
    const line = openCommandLine();
    const first = (await save(line, "one")) as Saved;
    const second = (await save(line, "two")) as Saved;
    expect(second.data).toMatchObject({ sessionId: first.data.sessionId, sessionHighlights: 2 });
    line.clock.advance(86_400_000);
    expect((await save(line, "three")) as Saved).toMatchObject({ data: { sessionHighlights: 1 } });
  });

  test("and a save shows those that it stored, long ones and many cut short", async () => {
    const { run } = openCommandLine();
    const { stdout } = await run(["checkpoint", "Done", "--workspace", "shop", "--highlight", "O(n²) became O(n)", "--highlight", "x".repeat(500)]);
    expect(stdout).toContain("> - O(n²) became O(n)\n");
    expect(stdout).toMatch(/^> - x{160}\.\.\.$/m);
    const many = await run(["checkpoint", "Done", "--workspace", "shop", ...Array.from({ length: 12 }, (_, i) => ["--highlight", `finding ${i}`]).flat()]);
    expect(many.stdout).toContain("> - finding 9\n(2 more)\n");
  });
});

describe("as processes", () => {
  let executable: Awaited<ReturnType<typeof buildExecutable>>;
  beforeAll(async () => {
    executable = await buildExecutable();
  });
  afterAll(() => executable.remove());
  const environment = () => ({ PATH: process.env.PATH, HOME: executable.folder });
  const argumentsFor = (folder: string, highlight: string) => [
    "checkpoint",
    "Found",
    "--highlight",
    highlight,
    "--workspace",
    "shop",
    "--json",
    "--store",
    `sqlite:${join(folder, "x.db")}`,
  ];

  // util-linux's script gives a command a terminal of its own; other systems have another program of this name.
  test.skipIf(process.platform !== "linux" || !existsSync("/usr/bin/script"))("the commands of one terminal are one session, those of another are not", async () => {
    const folder = await temporaryFolder();
    const command = (highlight: string): string => [process.execPath, executable.main, ...argumentsFor(folder, highlight)].map((word) => `'${word}'`).join(" ");
    const inTerminal = async (...highlights: string[]): Promise<readonly Saved[]> => {
      const { stdout } = await startProgram("/usr/bin/script", ["-qec", highlights.map(command).join("; "), "/dev/null"], { env: { ...environment(), SHELL: "/bin/sh" } }).finished;
      return stdout.split(/\r?\n/).flatMap((line) => (line.startsWith("{") ? [JSON.parse(line) as Saved] : []));
    };
    const [one, two] = await inTerminal("one", "two");
    expect(two?.data).toMatchObject({ sessionId: one?.data.sessionId, sessionHighlights: 2 });
    const [other] = await inTerminal("three");
    expect(other?.data.sessionHighlights).toBe(1);
    expect(other?.data.sessionId).not.toBe(one?.data.sessionId);
  });
});
