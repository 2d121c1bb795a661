// A Chromium for the browser tests and the screenshots. `node scripts/test-services/chromium.mjs` prints its path.
// Searches the PATH, the usual folders and .cache/chromium. If there is none, fetches one into the last, from Debian's packages, with the libraries and a font that it
// needs.
import { existsSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { cachedFolder, pathFolders, printOrFail, run, unpackPackages } from "./debian-packages.mjs";

/** The first version with popover, `dialog`, container queries and `light-dark()`. */
const versionMin = 123;
const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
const usualFolders = ["/usr/bin", "/usr/local/bin", "/usr/lib/chromium", "/snap/bin", "/opt/google/chrome", "/opt/homebrew/bin", "/Applications/Google Chrome.app/Contents/MacOS"];
const packages = ["chromium-headless-shell", "chromium-common", "fonts-dejavu-core"];

/** The path of a Chromium that runs here, and its version. */
export function requireChromium() {
  const given = process.env.HOLDFAST_TEST_CHROMIUM;
  const found = find(given === undefined ? candidates([...pathFolders(), ...usualFolders]) : [given]) ?? find(candidates([join(cachedFolder("chromium"), "bin")]));
  if (found !== undefined) return found;
  const failure = unpackPackages(cachedFolder("chromium"), packages, { "chromium-headless-shell": "usr/lib/chromium/chromium-headless-shell" });
  const fetched = find(candidates([join(cachedFolder("chromium"), "bin")]));
  if (fetched !== undefined) return fetched;
  // As root, the distribution's installer is simpler: it also brings the libraries that are loaded late.
  if (process.getuid?.() === 0) run("apt-get", ["install", "--yes", "--quiet", "--no-install-recommends", "chromium-headless-shell", "fonts-dejavu-core"], { timeout: 300_000 });
  const installed = find(candidates(usualFolders));
  if (installed !== undefined) return installed;
  throw new Error(
    `The browser tests need a Chromium or Chrome ${versionMin} or newer. None was found, and it could not be fetched: ${failure ?? "the fetched one does not run"}.\n` +
      "Put one on the PATH, or name it in HOLDFAST_TEST_CHROMIUM. On Debian or Ubuntu: apt-get install chromium; on macOS: brew install --cask chromium.",
  );
}

const candidates = (folders) => names.flatMap((name) => folders.filter((folder) => folder !== "").map((folder) => join(folder, name))).filter((path) => existsSync(path));

function find(paths) {
  for (const path of paths) {
    const version = /(\d+)\.\d+\.\d+/.exec(run(path, ["--version"], { timeout: 20_000 }).stdout ?? "");
    if (version !== null && Number(version[1]) >= versionMin) return { path: withFonts(path), version: `Chromium ${version[0]}` };
  }
  return undefined;
}

/** A machine without any font draws no text, so Chromium is started with the fetched one there. */
function withFonts(path) {
  const folder = cachedFolder("chromium");
  if (existsSync("/etc/fonts/fonts.conf") || process.platform !== "linux" || !existsSync(join(folder, "usr/share/fonts"))) return path;
  const file = join(folder, "fonts.conf");
  const launcher = join(folder, "bin", "chromium-with-fonts");
  writeFileSync(file, `<?xml version="1.0"?><fontconfig><dir>${join(folder, "usr/share/fonts")}</dir><cachedir prefix="xdg">fontconfig</cachedir></fontconfig>\n`);
  writeFileSync(launcher, `#!/bin/sh\nFONTCONFIG_FILE="${file}" exec "${path}" "$@"\n`, { mode: 0o755 });
  return launcher;
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url))
  printOrFail(() => {
    const { path, version } = requireChromium();
    return `${version}\n${path}`;
  });
