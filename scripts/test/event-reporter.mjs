// Vitest's reporter for scripts/test: one JSON line per event on file descriptor 3, so that the runner can show progress, notice a standstill and keep the results of
// an aborted run.
import { writeSync } from "node:fs";
import { relative } from "node:path";

const logTextMax = 2_000;

export default class EventReporter {
  #vitest;

  onInit(vitest) {
    this.#vitest = vitest;
  }

  onTestRunStart(specifications) {
    this.#send({ kind: "run-start", files: specifications.length });
  }

  onTestModuleQueued(module) {
    this.#send({ kind: "file-start", file: this.#path(module) });
  }

  onTestCaseReady(test) {
    this.#send({ kind: "test-start", file: this.#path(test.module), test: test.fullName });
  }

  onTestCaseResult(test) {
    const { state, errors = [] } = test.result();
    this.#send({
      kind: "test-end",
      file: this.#path(test.module),
      test: test.fullName,
      titles: titlesOf(test),
      state,
      ms: test.diagnostic()?.duration ?? 0,
      errors: errors.map((error) => this.#describe(error)),
    });
  }

  // A hook or a line of output counts as progress too.
  onHookStart(hook) {
    this.#send({ kind: "progress", file: this.#path(hook.entity.module ?? hook.entity), text: hook.name });
  }

  onUserConsoleLog({ content, taskId }) {
    const entity = taskId === undefined ? undefined : this.#vitest.state.getReportedEntityById(taskId);
    this.#send({ kind: "log", file: entity === undefined ? undefined : this.#path(entity.module ?? entity), text: content.slice(0, logTextMax) });
  }

  onTestModuleEnd(module) {
    const { duration, collectDuration, setupDuration, prepareDuration } = module.diagnostic();
    // An error outside any test: the file could not be loaded, or a hook of a describe block failed.
    const suites = [module, ...module.children.allSuites()];
    // Counted here: when a worker reports quickly, the last results may come only after this event.
    const count = (state) => [...module.children.allTests(state)].length;
    this.#send({
      kind: "file-end",
      file: this.#path(module),
      passed: count("passed"),
      failed: count("failed"),
      ms: duration + collectDuration + setupDuration + prepareDuration,
      errors: suites.flatMap((suite) => suite.errors()).map((error) => this.#describe(error)),
    });
  }

  onTestRunEnd(_modules, unhandled, reason) {
    this.#send({ kind: "run-end", reason, errors: unhandled.map((error) => this.#describe(error)) });
  }

  #path(module) {
    return relative(this.#vitest.config.root, module.moduleId).replaceAll("\\", "/");
  }

  #describe({ name, message, diff, stacks = [], cause }) {
    const frames = stacks.map(({ file, line, column, method }) => `    at ${method ? `${method} ` : ""}${relative(this.#vitest.config.root, file)}:${line}:${column}`);
    const why = cause?.message === undefined ? [] : [`Caused by: ${cause.message}`];
    return [`${name ?? "Error"}: ${message}`, ...(diff ? [diff] : []), ...frames, ...why].join("\n");
  }

  #send(event) {
    let rest = Buffer.from(`${JSON.stringify(event)}\n`);
    while (rest.length > 0) {
      try {
        rest = rest.subarray(writeSync(3, rest));
      } catch (error) {
        // The pipe is full: the runner reads as fast as it can.
        if (error.code !== "EAGAIN") throw error;
      }
    }
  }
}

/** The test's own title first, then those of the blocks around it. */
function titlesOf(test) {
  const titles = [];
  for (let entity = test; entity !== undefined && entity.type !== "module"; entity = entity.parent) titles.push(entity.name);
  return titles;
}
