import { join } from "node:path";
import { start } from "./processes.mjs";

/** One command that passes or fails as a whole; its output is shown if it fails. */
export async function runStep({ root, progress, results }, name, command) {
  progress.expect(1);
  progress.begin(name);
  const lines = [];
  const { code, seconds } = await start(command, { cwd: root, onLine: (line) => lines.push(line) }).finished;
  const passed = code === 0;
  if (!passed) progress.print(lines.join("\n"));
  progress.end(name, { passed, seconds });
  results.addStep(name, { passed, seconds, failure: `${name}: ${command.map((word) => (word === process.execPath ? "node" : word)).join(" ")}` });
}

/** The built package, which some tests and campaigns install and start. */
export const buildStep = (context) => runStep(context, "build", [process.execPath, join("scripts", "build.mjs")]);
