// Prints the path of systemd-analyze, which checks the unit in deploy/. Searches the PATH and .cache/systemd. If there is none, fetches one into the latter, from
// Debian's packages.
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { cachedFolder, foldersWith, pathFolders, printOrFail, unpackPackages } from "./debian-packages.mjs";

const program = "systemd-analyze";

/** Its path. */
export function requireSystemdAnalyze() {
  const fetched = join(cachedFolder("systemd"), "bin");
  const [found] = foldersWith([...pathFolders(), fetched], [program]);
  if (found !== undefined) return join(found, program);
  const failure = unpackPackages(cachedFolder("systemd"), ["systemd", "libsystemd-shared"], { [program]: `usr/bin/${program}` });
  if (failure === undefined) return join(fetched, program);
  throw new Error(
    `The tests of deploy/ need ${program} (Linux). It was not found, and it could not be fetched: ${failure}.\nInstall your distribution's systemd package; no service needs to run.`,
  );
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) printOrFail(requireSystemdAnalyze);
