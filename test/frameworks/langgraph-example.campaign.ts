import { cp, mkdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { requireService, root } from "../stories/installed-package.ts";
import type { RunningProcess } from "../support/cli-process.ts";
import { startProgram } from "../support/cli-process.ts";
import { sharedEngines } from "../support/engines.ts";
import { sharedBuild } from "../support/shared-builds.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** The example in a project that has installed this package and LangGraph. */
async function openProject(): Promise<(...args: readonly string[]) => RunningProcess> {
  const folder = await temporaryFolder();
  const [installed, savers] = [join(await sharedBuild("installation"), "node_modules"), dirname(dirname(dirname(dirname(await requireService("langgraph-savers.mjs")))))];
  await mkdir(join(folder, "node_modules"));
  // Copied, so that it finds LangGraph's interfaces in this project and not where it was installed from.
  await cp(join(installed, "holdfast"), join(folder, "node_modules", "holdfast"), { recursive: true, dereference: true });
  await symlink(join(savers, "@langchain"), join(folder, "node_modules", "@langchain"));
  for (const name of ["@photostructure", "pg", "ioredis"]) await symlink(join(installed, name), join(folder, "node_modules", name));
  await cp(join(root, "examples", "langgraph", "take-over.mjs"), join(folder, "take-over.mjs"));
  return (...args) => {
    const running = startProgram(process.execPath, ["take-over.mjs", ...args], { cwd: folder, env: { PATH: process.env.PATH, HOME: folder } });
    onTestFinished(async () => {
      if (running.child.exitCode === null && running.child.signalCode === null) running.child.kill("SIGKILL");
      await running.finished;
    });
    return running;
  };
}

test.each(sharedEngines)("the example continues a killed worker's thread in another process, with the step that was interrupted, on $name", async (on) => {
  const start = await openProject();
  const url = await on.freshUrl();
  const ann = start(url, "trip-7", "ann");
  expect(await ann.saw(/book\n/)).toBe("ann: plan\nann: book\n");
  ann.child.kill("SIGKILL");
  const ben = await start(url, "trip-7", "ben").finished;
  expect(ben).toMatchObject({ stderr: "", stdout: "ben: book\nben: confirm\nben: finished: plan by ann, book by ben, confirm by ben\n" });
});
