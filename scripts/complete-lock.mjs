// Completes package-lock.json with packages for other platforms. A registry mirror may carry only the platforms of its users; npm then omits the others from the lock
// file, and `npm ci` rejects that file as incomplete. Their exact versions are in the packages that name them, and their platforms in their own names; only their
// checksums are unknown here. Run it after `npm install`; `--check` changes nothing and exits 1 when entries are missing.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const path = join(dirname(dirname(fileURLToPath(import.meta.url))), "package-lock.json");
const lock = JSON.parse(readFileSync(path, "utf8"));
const systems = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"];
const processors = ["arm64", "arm", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "wasm32", "x64"];

const missing = Object.entries(lock.packages).flatMap(([parent, { optionalDependencies = {}, dev }]) =>
  Object.entries(optionalDependencies)
    .filter(([name]) => !isLocked(parent, name))
    .map(([name, version]) => ({ place: placeOf(parent, name), name, version, dev })),
);
if (process.argv.includes("--check")) {
  for (const { place, version } of missing) process.stdout.write(`missing from package-lock.json: ${place} ${version}\n`);
  process.exit(missing.length === 0 ? 0 : 1);
}
for (const { place, name, version, dev } of missing) lock.packages[place] = entryOf(name, version, dev);
const [project, ...rest] = Object.entries(lock.packages);
lock.packages = Object.fromEntries([project, ...rest.sort(([a], [b]) => a.localeCompare(b, "en"))]);
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
process.stdout.write(`${missing.length} entries added to package-lock.json\n`);

/** As Node resolves: in the parent's own folder, or in any folder above it. */
function isLocked(parent, name) {
  for (let folder = parent; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    const place = `${folder === "" ? "" : `${folder}/`}node_modules/${name}`;
    if (lock.packages[place] !== undefined) return lock.packages[place].version === lock.packages[parent].optionalDependencies[name] || folder === "";
    if (folder === "") return false;
  }
}

/** Next to the parent: at the top unless the parent itself is nested. */
function placeOf(parent, name) {
  const above = parent.lastIndexOf("/node_modules/");
  return `${above < 0 ? "" : `${parent.slice(0, above)}/`}node_modules/${name}`;
}

/** Members in npm's own order, so that its next rewrite changes nothing. */
function entryOf(name, version, dev) {
  const words = name.split(/[/-]/);
  const pick = (known) => known.filter((word) => words.includes(word));
  const [os, cpu] = [pick(systems), pick(processors)];
  if (cpu.length !== 1 || (os.length !== 1 && cpu[0] !== "wasm32")) throw new Error(`The platform of ${name} does not follow from its name; add it to package-lock.json by hand.`);
  const libc = words.some((word) => word.startsWith("musl")) ? ["musl"] : words.some((word) => word.startsWith("gnu")) ? ["glibc"] : undefined;
  return { version, cpu, ...(dev ? { dev } : {}), ...(libc === undefined ? {} : { libc }), optional: true, ...(os.length === 0 ? {} : { os }) };
}
