import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { CommandResult } from "../support/cli-host.ts";
import { openCommandLine } from "../support/cli-host.ts";
import { until } from "../support/soon.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** `holdfast effect` in this process, with a real command and a clock that the test moves. Scripts count their calls in `$dir/count`. */
async function openEffects(options: Parameters<typeof openCommandLine>[0] = {}) {
  const dir = await temporaryFolder();
  const commandLine = openCommandLine(options);
  const file = (name: string): string => join(dir, name);
  return {
    ...commandLine,
    file,
    script: (text: string): readonly string[] => ["--", "/bin/sh", "-c", `dir='${dir}'; echo call >> "$dir/count"; ${text}`],
    effect: (args: readonly string[], command: readonly string[]): Promise<CommandResult> => commandLine.run(["effect", ...args, ...command]),
    calls: () => (existsSync(file("count")) ? readFileSync(file("count"), "utf8").trim().split("\n").length : 0),
  };
}

const idIn = ({ stderr }: CommandResult): string => /fx-[0-9a-f]{20}/.exec(stderr)?.[0] ?? "";

test("a command is run once for its name; afterwards its output and exit code come from the record", async () => {
  const { effect, script, calls, clock } = await openEffects();
  const pay = script('echo "paid $HOLDFAST_EFFECT_ATTEMPT"; echo "slow bank" >&2; exit 3');
  expect(await effect(["invoice-7"], pay)).toEqual({ code: 3, stdout: "paid 1\n", stderr: "slow bank\n" });
  clock.advance(60_000);
  const again = await effect(["invoice-7"], pay);
  expect(again).toMatchObject({ code: 3, stdout: "paid 1\n" });
  expect(again.stderr).toMatch(/^holdfast: replay: invoice-7 \(fx-[0-9a-f]{20}\) was done 1m ago; the command was not run\nslow bank\n$/);
  expect(await effect(["invoice-7", "--run", "run-2"], pay)).toMatchObject({ code: 3, stderr: "slow bank\n" });
  expect(calls()).toBe(2);
});

test("the command knows the effect's id, which the other side can take for its idempotency key", async () => {
  const { effect, json, script } = await openEffects();
  const { stdout } = await effect(["a"], script('echo "$HOLDFAST_EFFECT"'));
  expect(((await json("effect", "show", stdout.trim())) as { name: string }).name).toBe("a");
});

test("the same name with another command is refused", async () => {
  const { effect, script, calls } = await openEffects();
  await effect(["mail"], script("exit 0"));
  expect(await effect(["mail"], script("exit 1"))).toMatchObject({ code: 4, stderr: expect.stringContaining("begun before with different arguments") });
  expect(calls()).toBe(1);
});

test("a command that is running is not run beside itself, however long it takes", async () => {
  const { effect, script, calls, clock, file } = await openEffects();
  const slow = script('while [ ! -e "$dir/end" ]; do sleep 0.02; done; echo sent');
  const running = effect(["mail", "--live", "3s"], slow);
  await until(() => calls() === 1 && clock.sleeping() > 0);
  await clock.advanceBy(60_000);
  expect(await effect(["mail"], slow)).toMatchObject({ code: 1, stderr: expect.stringContaining("has been running for 1m") });
  writeFileSync(file("end"), "");
  expect(await running).toEqual({ code: 0, stdout: "sent\n", stderr: "" });
  expect(await effect(["mail"], slow)).toMatchObject({ code: 0, stdout: "sent\n" });
  expect(calls()).toBe(1);
});

test("a command that a signal ended is unknown: it is refused until it is resolved", async () => {
  const { effect, run, json, script, calls } = await openEffects();
  const cut = script("kill -KILL $$");
  const first = await effect(["mail"], cut);
  expect(first).toMatchObject({
    code: 137,
    stderr: expect.stringMatching(/unknown: the command was ended by SIGKILL\. When you know what happened, run: holdfast effect resolve fx-/),
  });
  expect(await effect(["mail"], cut)).toMatchObject({ code: 6, stderr: expect.stringContaining("the command was not run. Find out what happened") });
  expect(calls()).toBe(1);
  const id = idIn(first);
  expect((await run(["effect", "list", "--state", "unknown"])).stdout).toMatch(new RegExp(`unknown +${id} +mail`));
  const secret = `ghp_${"a1B2".repeat(9)}`;
  expect(await run(["effect", "resolve", id, "--as", "failed", "--reason", `seen with ${secret}`, "--secrets", "refuse"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("reason: looks like a secret"),
  });
  const { token } = (await json("effect", "show", id)) as { token: number };
  expect(await run(["effect", "resolve", id, "--as", "failed", "--token", String(token + 1)])).toMatchObject({ code: 4, stderr: expect.stringContaining("begun again since") });
  expect(await run(["effect", "resolve", id, "--as", "failed", "--token", String(token), "--reason", "not in the outbox"])).toMatchObject({
    code: 0,
    stdout: 'Effect "mail" is resolved as failed; it may be done again.\n',
  });
  expect(await effect(["mail"], cut)).toMatchObject({ code: 137 });
  expect(calls()).toBe(2);
  expect(await run(["effect", "resolve", id, "--as", "done"])).toMatchObject({ code: 0 });
  expect(await effect(["mail"], cut)).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining("was resolved as done") });
  expect(await run(["effect", "resolve", id, "--as", "failed"])).toMatchObject({ code: 4, stderr: expect.stringContaining("is done, not unknown") });
});

test("a lost command is run again, or taken for done, where the policy says so", async () => {
  const { effect, script, calls } = await openEffects();
  const cut = script('[ -e "$dir/twice" ] && exit 0; touch "$dir/twice"; kill -KILL $$');
  await effect(["mail"], cut);
  expect(await effect(["mail", "--policy", "retry"], cut)).toMatchObject({ code: 0 });
  expect(calls()).toBe(2);
  const other = script("kill -KILL $$");
  await effect(["post"], other);
  expect(await effect(["post", "--policy", "assume-done"], other)).toMatchObject({ code: 0, stderr: expect.stringContaining("assumed to be done") });
  expect(await effect(["post"], other)).toMatchObject({ code: 0 });
  expect(calls()).toBe(3);
});

test("an exit code that proves that nothing happened, and a command that cannot be started, may be tried again", async () => {
  const { effect, script, calls, json, clock } = await openEffects();
  const busy = script('[ -e "$dir/free" ] && exit 0; touch "$dir/free"; exit 75');
  expect((await effect(["mail", "--failed-exit", "69,75"], busy)).code).toBe(75);
  expect((await effect(["mail", "--failed-exit", "69,75"], busy)).code).toBe(0);
  expect(calls()).toBe(2);
  clock.advance(1);
  expect(await effect(["none"], ["--", "/no/such/program"])).toMatchObject({ code: 127, stderr: expect.stringContaining("was not found") });
  expect(await json("effect", "list")).toMatchObject({
    effects: [
      { state: "failed", name: "none" },
      { state: "done", attempts: 2 },
    ],
  });
});

test("under a lease it is run only while that is held", async () => {
  const { effect, script, calls, json } = await openEffects();
  const { token } = await json("lease", "acquire", "bank", "--agent", "a");
  expect((await effect(["one", "--lease", `bank:${token}`], script("exit 0"))).code).toBe(0);
  expect(await effect(["two", "--lease", "bank:999"], script("exit 0"))).toMatchObject({ code: 4, stderr: expect.stringContaining("is not its current token") });
  expect(calls()).toBe(1);
});

test("output that is long or not text comes back as far as it is kept", async () => {
  const { effect, script } = await openEffects();
  const long = script("yes 0123456789 | head -c 1000000; printf end");
  const first = await effect(["long"], long);
  expect(first.stdout).toHaveLength(1_000_003);
  const again = await effect(["long"], long);
  expect(again.stdout).toBe(first.stdout.slice(-262_144));
  expect(again.stderr).toContain(`the first ${1_000_003 - 262_144} bytes of stdout were not kept`);
  const bytes = script("printf '\\377\\000\\001'");
  const binary = await effect(["binary"], bytes);
  expect((await effect(["binary"], bytes)).stdout).toBe(binary.stdout);
});

test("secrets in arguments and output are not stored where the server stores none", async () => {
  const { effect, script, engine } = await openEffects({ environment: { HOLDFAST_SECRETS: "redact" } });
  const token = `ghp_${"a1B2c3D4e5".repeat(4).slice(0, 36)}`;
  const call = script(`echo ${token}`);
  expect((await effect(["call"], call)).stdout).toContain(token);
  expect((await effect(["call"], call)).stdout).toContain("[redacted:");
  expect(JSON.stringify(await engine.dump("default", { part: "log", after: 0 }))).not.toContain(token);
});

test.each([
  [["effect"], /effect list/],
  [["effect", "a"], /<command>: is missing/],
  [["effect", "a", "b", "--", "true"], /<name>: pass exactly one name/],
  [["effect", "a", "--policy", "retri", "--", "true"], /--policy: must be one of .*did you mean retry/],
  [["effect", "a", "--live", "1ms", "--", "true"], /--live: must be at least 300ms/],
  [["effect", "a", "--failed-exit", "0", "--", "true"], /--failed-exit: must be exit codes from 1 to 255/],
  [["effect", "a", "--lease", "bank", "--", "true"], /--lease: must be NAME:TOKEN/],
  [["effect", "a", "--read-only", "--", "true"], /read-only/],
  [["effect", "show"], /<id>: must be the id of one effect/],
  [["effect", "show", "nothing"], /id: must be the id of an effect/],
  [["effect", "show", `fx-${"0".repeat(20)}`], /There is no effect .*effect list/],
  [["effect", "resolve", `fx-${"0".repeat(20)}`], /--as: required/],
  [["effect", "resolve", `fx-${"0".repeat(20)}`, "--as", "don"], /--as: must be one of .*did you mean done/],
  [["effect", "resolve", `fx-${"0".repeat(20)}`, "--as", "done", "--token", "x"], /--token: must be the token of the attempt/],
  [["effect", "list", "--state", "lost"], /--state: must be one of/],
])("%j is refused and says why", async (args, says) => {
  const { code, stdout, stderr } = await openCommandLine().run(args);
  expect(code).not.toBe(0);
  expect(stdout + stderr).toMatch(says);
});
