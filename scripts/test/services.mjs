// Programs that the tests need, fetched on first use: scripts/test-services has a script for each, which prints its path.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { start } from "./processes.mjs";

/** Resolves to the program's path; or, if it cannot be had, to undefined, with a failure that says how to get it. */
export async function requireService(name, script, { root, results, progress, engine }) {
  const label = `find or fetch ${name}`;
  progress.expect(1);
  progress.begin(label);
  const lines = [];
  const { code, seconds } = await start([process.execPath, join("scripts", "test-services", script)], { cwd: root, onLine: (line) => lines.push(line) }).finished;
  const [path, version] = lines.toReversed();
  if (engine !== undefined) results.versions[engine] = version;
  const passed = code === 0 && path !== undefined && existsSync(path);
  if (!passed) {
    progress.print(lines.join("\n"));
    results.addStep(label, { passed, seconds, failure: `${name} could not be found or fetched; the output of scripts/test-services/${script} above says what to do.` });
  }
  progress.end(label, { passed, seconds });
  return passed ? path : undefined;
}
