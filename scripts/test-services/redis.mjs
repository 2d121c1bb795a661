// A Redis or Valkey server with its command-line client and its benchmark. `node scripts/test-services/redis.mjs` prints the folder they are in.
// Searches the PATH, the usual folders and .cache/redis. If there is none, fetches one into the last, from Debian's packages.
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { cachedFolder, foldersWith, pathFolders, printOrFail, run, unpackPackages } from "./debian-packages.mjs";

const versionMin = [7, 0];
const families = ["redis", "valkey"];
const parts = ["server", "cli", "benchmark"];

/** Where each program is, and the version that the server reports. Sentinel is the server started with --sentinel. */
export function requireRedis() {
  const found = find(pathFolders().concat("/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")) ?? find([join(cachedFolder("redis"), "bin")]);
  if (found !== undefined) return found;
  const folder = cachedFolder("redis");
  const programs = Object.fromEntries(parts.map((part) => [`redis-${part}`, `usr/bin/redis-${part}`]));
  const failure = unpackPackages(folder, ["redis-server", "redis-tools"], programs);
  const fetched = find([join(folder, "bin")]);
  if (fetched !== undefined) return fetched;
  throw new Error(
    `The tests need a Redis ${versionMin.join(".")} or newer, or a Valkey, that they can start, kill and restart. None was found, and it could not be fetched: ${failure ?? "the fetched one does not run"}.\n` +
      "Put redis-server, redis-cli and redis-benchmark (or their valkey- names) on the PATH. On Debian or Ubuntu: apt-get install redis-server redis-tools; on macOS: brew install redis.",
  );
}

function find(folders) {
  for (const family of families)
    for (const folder of foldersWith(
      folders,
      parts.map((part) => `${family}-${part}`),
    )) {
      const [server, cli, benchmark] = parts.map((part) => join(folder, `${family}-${part}`));
      const version = /v=(\d+)\.(\d+)\S*/.exec(run(server, ["--version"]).stdout ?? "");
      if (version === null || compare([Number(version[1]), Number(version[2])], versionMin) < 0) continue;
      return { folder, server, cli, benchmark, version: `${family} ${version[0].slice(2)}` };
    }
  return undefined;
}

const compare = ([major, minor], [otherMajor, otherMinor]) => major - otherMajor || minor - otherMinor;

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url))
  printOrFail(() => {
    const { folder, version } = requireRedis();
    return `${version}\n${folder}`;
  });
