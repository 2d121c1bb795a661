import { describe, expect, test } from "vitest";
import { openCommandLine } from "../support/cli-host.ts";
import { until } from "../support/soon.ts";

const lines = (text: string): Record<string, unknown>[] =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

/** Until the watch has registered for signals: from then on it misses nothing. */
async function started(commandLine: ReturnType<typeof openCommandLine>): Promise<void> {
  await until(() => commandLine.waiting() > 0);
  await commandLine.clock.settle();
}

describe("watch", () => {
  test("prints the changes of one key from now on, in order", async () => {
    const commandLine = openCommandLine();
    await commandLine.run(["set", "k", "0"]);
    const watching = commandLine.run(["watch", "k", "--count", "3", "--json"]);
    await started(commandLine);
    await commandLine.run(["set", "k", "1", "--agent", "w1"]);
    await commandLine.run(["set", "other", "9"]);
    await commandLine.run(["rm", "k"]);
    await commandLine.run(["set", "k", "2", "--ttl", "1m"]);
    const { code, stdout } = await watching;
    expect(code).toBe(0);
    expect(lines(stdout)).toMatchObject([
      { revision: 2, key: "k", op: "set", version: 2, value: 1, changed_by: "w1", expires_at: null },
      { revision: 4, key: "k", op: "delete", version: 2, value: null, changed_by: "tester" },
      { revision: 5, key: "k", op: "set", version: 3, value: 2, expires_at: commandLine.clock.nowMs() / 1000 + 60 },
    ]);
  });

  test("a prefix ends with a star, --after continues where an earlier watch ended", async () => {
    const { run } = openCommandLine();
    for (const key of ["a/1", "a/2", "b/1", "a/3"]) await run(["set", key, "1"]);
    const { stdout } = await run(["watch", "a/*", "--after", "1", "--count", "2", "--json"]);
    expect(lines(stdout).map(({ key }) => key)).toEqual(["a/2", "a/3"]);
  });

  test("a star that belongs to the key is written with a backslash", async () => {
    const { run } = openCommandLine();
    for (const key of ["a*", "ab"]) await run(["set", key, "1"]);
    expect((await run(["watch", "a\\*", "--after", "0", "--count", "1"])).stdout).toMatch(/^1 {2}\S+ \S+ {2}set a\* v1 1 {2}by tester\n$/);
  });

  test("a long value is cut to the line on a terminal, and whole on a pipe", async () => {
    const long = "x".repeat(500);
    for (const [terminal, width] of [[true, 80] as const, [false, 500] as const]) {
      const { run } = openCommandLine({ terminal, columns: 80 });
      await run(["set", "k", long]);
      const [line] = (await run(["watch", "k", "--after", "0", "--count", "1"])).stdout.replaceAll(/\u001b\[\d+m/g, "").split("\n") as [string];
      expect(line).toMatch(/by tester$/);
      if (terminal) expect(line.length).toBe(width);
      else expect(line.length).toBeGreaterThan(width);
    }
  });

  test("ends with 130 when interrupted", async () => {
    const commandLine = openCommandLine();
    const watching = commandLine.run(["watch", "k"]);
    await started(commandLine);
    commandLine.press("SIGINT");
    expect(await watching).toEqual({ code: 130, stdout: "", stderr: "" });
    expect(commandLine.waiting()).toBe(0);
  });

  test("on a terminal it says first what it watches and from where", async () => {
    const { run } = openCommandLine({ terminal: true });
    for (const key of ["a", "b"]) await run(["set", key, "1"]);
    expect((await run(["watch", "b", "--after", "1", "--count", "1"])).stderr).toBe("watching b from revision 1 on; press Ctrl-C to stop\n");
  });

  test.each([[["watch"]], [["watch", ""]], [["watch", "a", "b"]], [["watch", "a", "--after", "x"]], [["watch", "a", "--count", "0"]]])("%j is refused", async (args) => {
    expect((await openCommandLine().run(args)).code).toBe(2);
  });

  test("a revision that has not happened yet is refused, not waited for", async () => {
    expect(await openCommandLine().run(["watch", "k", "--after", "99", "--count", "1"])).toMatchObject({ code: 2, stderr: expect.stringContaining("has not happened yet") });
  });
});
