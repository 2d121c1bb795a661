// PostgreSQL's server and tools. `node scripts/test-services/postgres.mjs` prints the folder they are in.
// Searches the PATH, the distributions' folders and .cache/postgres. If there is none, fetches one into the last, from Debian's packages.
import { existsSync, readdirSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { cachedFolder, foldersWith, pathFolders, printOrFail, run, unpackPackages } from "./debian-packages.mjs";

const versionMin = 13;
const programs = ["postgres", "initdb", "pg_basebackup", "pgbench", "psql"];

/** The folder of the programs and the server's version. */
export function requirePostgres() {
  const found =
    find([...realFolders(pathFolders()), ...distributionFolders("/usr/lib/postgresql"), ...distributionFolders("/opt/homebrew/opt")]) ??
    find([join(cachedFolder("postgres"), "bin")]);
  if (found !== undefined) return found;
  const failure = fetchPostgres();
  const fetched = find([join(cachedFolder("postgres"), "bin")]);
  if (fetched !== undefined) return fetched;
  throw new Error(
    `The tests need a PostgreSQL ${versionMin} or newer that they can start, kill and restart. None was found, and it could not be fetched: ${failure ?? "the fetched one does not run"}.\n` +
      `Put ${programs.join(", ")} on the PATH. On Debian or Ubuntu: apt-get install postgresql (its service may stay off); on macOS: brew install postgresql.`,
  );
}

function fetchPostgres() {
  if (newestPackaged() === undefined) run("apt-get", ["update", "--quiet"]);
  const major = newestPackaged();
  if (major === undefined) return "apt-get knows no package postgresql-NN, or this system has no apt-get";
  const folder = `usr/lib/postgresql/${major}/bin`;
  return unpackPackages(cachedFolder("postgres"), [`postgresql-${major}`, `postgresql-client-${major}`], Object.fromEntries(programs.map((name) => [name, `${folder}/${name}`])));
}

const newestPackaged = () => /Depends: postgresql-(\d+)/.exec(run("apt-cache", ["depends", "postgresql"]).stdout ?? "")?.[1];

/** A link in /usr/local/bin is often to a single program; its real folder has all of them. */
const realFolders = (folders) => folders.flatMap((folder) => (existsSync(join(folder, "postgres")) ? [folder, dirname(realpathSync(join(folder, "postgres")))] : []));

/** Newest version first. */
function distributionFolders(root) {
  const names = existsSync(root) ? readdirSync(root) : [];
  const version = (name) => Number(/(?:^|@)(\d+)$/.exec(name)?.[1] ?? 0);
  return names
    .filter((name) => version(name) > 0)
    .sort((a, b) => version(b) - version(a))
    .map((name) => join(root, name, "bin"));
}

function find(folders) {
  for (const folder of foldersWith(folders, programs)) {
    const version = /(\d+)(?:\.\d+)?/.exec(run(join(folder, "postgres"), ["--version"]).stdout ?? "");
    if (version !== null && Number(version[1]) >= versionMin) return { folder, version: `PostgreSQL ${version[0]}` };
  }
  return undefined;
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url))
  printOrFail(() => {
    const { folder, version } = requirePostgres();
    return `${version}\n${folder}`;
  });
