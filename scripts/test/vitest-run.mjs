// One run of Vitest: its events become results and progress. A run in which a file makes no progress is aborted, and the running test is named.
import { join } from "node:path";
import { start } from "./processes.mjs";
import { thisRuntime } from "./results.mjs";

const vitest = join("node_modules", "vitest", "vitest.mjs");
const reporter = join("scripts", "test", "event-reporter.mjs");
const tickMs = 5_000;
const standstillMinutes = Number(process.env.HOLDFAST_TEST_STANDSTILL_MINUTES ?? 10);

/**
 * Resolves to true if every test passed. `showLogs` prints the output of tests, for campaigns, whose figures belong in the output; `isCounted`: the caller has added
 * the number of files to the progress.
 */
export async function runVitest({ root, args, results, progress, runtime = { name: thisRuntime, node: process.execPath }, env = {}, showLogs = false, isCounted = false }) {
  /** For each running file: its test, and the number of ticks without an event. Ticks, because a clock does not show how much of the machine this run got. */
  const running = new Map();
  const output = [];
  let failed = false;
  let filesSeen = 0;
  const fail = (file, text, failure) => {
    failed = true;
    if (failure !== undefined) results.addFailure(file, runtime.name, failure);
    progress.print(`\n${text}\n`);
  };
  const touch = (file, test) => {
    if (file !== undefined && running.has(file)) running.set(file, { test: test ?? running.get(file).test, idleTicks: 0 });
  };
  const label = (file) => (runtime.name === thisRuntime ? file : `${file} (${runtime.name})`);

  const onEvent = (event) => {
    const { kind, file } = event;
    if (kind === "run-start") {
      if (!isCounted) progress.expect(event.files);
    } else if (kind === "file-start") {
      running.set(file, { test: "before the first test", idleTicks: 0 });
      progress.begin(label(file));
    } else if (kind === "test-end") {
      touch(file);
      results.addTest(file, runtime.name, event);
      if (event.state === "failed") fail(file, [`FAIL ${label(file)}: ${event.test}`, ...event.errors].join("\n"));
    } else if (kind === "file-end") {
      filesSeen += 1;
      running.delete(file);
      for (const error of event.errors) fail(file, `FAIL ${label(file)}: outside its tests\n${error}`, error.split("\n")[0]);
      const failures = event.failed + event.errors.length;
      progress.end(label(file), { passed: failures === 0, detail: `${event.passed} passed${failures === 0 ? "" : `, ${failures} failed`}`, seconds: event.ms / 1_000 });
    } else if (kind === "run-end") for (const error of event.errors) fail("the run", `FAIL outside any file\n${error}`, error.split("\n")[0]);
    else {
      touch(file, event.test);
      if (showLogs && kind === "log") progress.print(event.text.trimEnd());
    }
  };

  const command = [runtime.node, vitest, "run", ...args, `--reporter=./${reporter}`];
  const child = start(command, { cwd: root, env: { ...process.env, ...env }, onEvent, onLine: (line) => output.push(line) });
  const watch = setInterval(() => {
    for (const [file, { test, idleTicks }] of running) {
      running.set(file, { test, idleTicks: idleTicks + 1 });
      if (idleTicks > 0 && (idleTicks * tickMs) % 60_000 === 0) progress.print(`      ${label(file)} has been in one test for ${(idleTicks * tickMs) / 60_000} min: ${test}`);
      if (idleTicks * tickMs < standstillMinutes * 60_000) continue;
      running.clear();
      fail(file, `FAIL ${label(file)}: no progress for ${standstillMinutes} minutes (${test}); the run was ended.`, `no progress for ${standstillMinutes} minutes: ${test}`);
      void child.end();
      break;
    }
  }, tickMs);
  const { code } = await child.finished;
  clearInterval(watch);
  if (filesSeen === 0 && !failed)
    fail("the run", `FAIL Vitest ended with exit code ${code} and ran no file.\n${output.join("\n")}`, `Vitest ended with exit code ${code} and ran no file`);
  else if (code !== 0 && !failed)
    fail(
      "the run",
      `FAIL every test passed, but Vitest ended with exit code ${code}.\n${output.slice(-40).join("\n")}`,
      `every test passed, but Vitest ended with exit code ${code}`,
    );
  return !failed;
}
