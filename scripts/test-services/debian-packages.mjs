// Programs from Debian's packages, unpacked into a folder of the project: nothing is installed, no service is started, and root is not needed.
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const own = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), ".cache");
// Root starts PostgreSQL as another user, who must be able to read the fetched files, so they must not be below a folder such as /root.
const cache = process.env.HOLDFAST_TEST_CACHE ?? (process.getuid?.() !== 0 || isOpen(dirname(own)) ? own : "/var/cache/holdfast-tests");

/** The folder of the files fetched under this name. */
export const cachedFolder = (name) => join(cache, name);

/** The folders that contain all of these programs, executable. */
export const foldersWith = (folders, programs) => folders.filter((folder) => folder !== "" && programs.every((program) => isProgram(join(folder, program))));

export const pathFolders = () => (process.env.PATH ?? "").split(delimiter);

/** Whether all users may enter it and every folder above it. */
function isOpen(folder) {
  return (statSync(folder).mode & 0o001) !== 0 && (folder === dirname(folder) || isOpen(dirname(folder)));
}

function isProgram(path) {
  try {
    const entry = statSync(path);
    return entry.isFile() && (process.platform === "win32" || (entry.mode & 0o111) !== 0);
  } catch {
    return false;
  }
}

/**
 * Unpacks the packages into `folder` and creates `folder`/bin with one short script for each of `programs` (name to path inside the packages), which finds the
 * unpacked libraries. Returns undefined on success, otherwise the reason for the failure.
 */
export function unpackPackages(folder, packages, programs) {
  if (!hasCommand("apt-get") || !hasCommand("dpkg")) return "this system does not have apt-get and dpkg";
  mkdirSync(dirname(folder), { recursive: true });
  // Two runs may fetch at once: each works on a draft, and the first one that is complete is renamed into place.
  const draft = mkdtempSync(`${folder}.draft-`);
  try {
    return fillAndPlace(draft, folder, packages, programs);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function fillAndPlace(draft, folder, packages, programs) {
  // Missing or outdated lists are the usual reason for a failed download; without root they cannot be updated.
  let failure = download(draft, packages);
  if (failure !== undefined && run("apt-get", ["update", "--quiet"]).status === 0) failure = download(draft, packages);
  if (failure !== undefined) return failure;
  const missing = Object.values(programs).find((path) => !existsSync(join(draft, path)));
  if (missing !== undefined) return `the packages ${packages.join(", ")} do not have ${missing}`;
  const lacking = addLibraries(draft, packages, Object.values(programs));
  if (lacking !== "") return `shared libraries are missing: ${lacking}`;
  mkdirSync(join(draft, "bin"));
  for (const [name, path] of Object.entries(programs)) writeLauncher(join(draft, "bin", name), path);
  chmodSync(draft, 0o755);
  try {
    rmSync(folder, { recursive: true, force: true });
    renameSync(draft, folder);
  } catch (error) {
    if (!existsSync(join(folder, "bin"))) return error.message;
  }
  return undefined;
}

/** Returns the reason for a failure; undefined = unpacked. */
function download(draft, packages) {
  const { status, stdout, stderr, error } = run("apt-get", ["download", ...packages], { cwd: draft });
  const archives = readdirSync(draft).filter((name) => name.endsWith(".deb"));
  const failed = status === 0 && archives.length > 0 ? archives.map((name) => run("dpkg", ["-x", name, "."], { cwd: draft })).find((unpacked) => unpacked.status !== 0) : undefined;
  for (const name of archives) rmSync(join(draft, name));
  if (status !== 0) return `apt-get download ${packages.join(" ")} failed: ${error?.message ?? `${stdout}${stderr}`.trim()}`;
  return failed === undefined ? undefined : `dpkg -x failed: ${failed.stderr.trim()}`;
}

/** Adds missing libraries from the packages' dependencies, level by level. Returns those that are still missing. */
function addLibraries(draft, packages, paths) {
  let level = packages;
  for (let depth = 0; depth < 4; depth += 1) {
    if (lackingLibraries(draft, paths) === "") return "";
    level = [...new Set(level.flatMap(libraryDependencies))].filter((name) => !isInstalled(name));
    if (level.length === 0 || download(draft, level) !== undefined) break;
  }
  return lackingLibraries(draft, paths);
}

function lackingLibraries(draft, paths) {
  const { stdout } = run(
    "ldd",
    paths.map((path) => join(draft, path)),
    { env: { ...process.env, LD_LIBRARY_PATH: libraryFolders.map((inner) => join(draft, inner)).join(":") } },
  );
  return [...new Set([...(stdout ?? "").matchAll(/^\s*(\S+) => not found/gm)].map((match) => match[1]))].join(", ");
}

/** Takes the first of several alternatives; providers of virtual packages are indented further and skipped. */
function libraryDependencies(name) {
  const { stdout } = run("apt-cache", ["depends", name]);
  return [...(stdout ?? "").matchAll(/^ [ |](?:Pre)?Depends: (lib\S+)$/gm)].map((match) => match[1]);
}

const isInstalled = (name) => /^Status: .* installed$/m.test(run("dpkg-query", ["--status", name]).stdout ?? "");

// PulseAudio's library, which Chromium links to, keeps its second half in a separate folder.
const libraryFolders = ["x86_64", "aarch64"]
  .flatMap((machine) => [`usr/lib/${machine}-linux-gnu`, `usr/lib/${machine}-linux-gnu/pulseaudio`, `lib/${machine}-linux-gnu`])
  .concat("usr/lib");

/** `exec` keeps the process id, so that the parent of the script can signal the program. */
function writeLauncher(file, path) {
  const folders = libraryFolders.map((inner) => `$root/${inner}`).join(":");
  const script = `#!/bin/sh\nroot=\${0%/bin/${basename(file)}}\nLD_LIBRARY_PATH="${folders}\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$root/${path}" "$@"\n`;
  writeFileSync(file, script, { mode: 0o755 });
}

export function run(command, args, options = {}) {
  return spawnSync(command, args, { encoding: "utf8", timeout: 180_000, ...options, env: { ...(options.env ?? process.env), DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" } });
}

const hasCommand = (command) => run(command, ["--version"]).error === undefined;

/** Prints the result of `find`, or the reason for its failure to standard error with exit code 1. */
export function printOrFail(find) {
  try {
    process.stdout.write(`${find()}\n`);
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
