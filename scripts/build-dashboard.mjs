// Builds the dashboard's page into a folder: index.html and, under assets/, its script, style and mark under names that carry their hash.
// `node scripts/build-dashboard.mjs DIR` builds only the page, to check a change.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const source = join(root, "dashboard");

/** Returns esbuild's list of the inputs, for the notices. */
export async function buildDashboard(folder) {
  const options = {
    absWorkingDir: root,
    outdir: join(folder, "assets"),
    bundle: true,
    minify: true,
    legalComments: "none",
    entryNames: "[name]-[hash]",
    assetNames: "[name]-[hash]",
    // Browsers that know light-dark() and dialogs; older ones would get a page without colours.
    target: ["chrome123", "firefox121", "safari17.5"],
    publicPath: "/assets",
    loader: { ".svg": "file" },
    metafile: true,
    logLevel: "warning",
  };
  const page = await build({ ...options, entryPoints: [join(source, "main.tsx"), join(source, "styles/page.css")], format: "esm", jsx: "automatic", jsxImportSource: "preact" });
  const theme = await build({ ...options, entryPoints: [join(source, "apply-theme.ts")], format: "iife" });
  const built = Object.keys({ ...page.metafile.outputs, ...theme.metafile.outputs }).map((path) => basename(path));
  const address = (start, end) => `/assets/${built.find((name) => name.startsWith(start) && name.endsWith(end))}`;
  const html = (await readFile(join(source, "index.html"), "utf8"))
    .replace("%PAGE%", address("main-", ".js"))
    .replace("%STYLE%", address("page-", ".css"))
    .replace("%THEME%", address("apply-theme-", ".js"))
    .replace("%MARK%", address("mark-", ".svg"))
    .replaceAll(/\n\s*/g, "\n");
  if (html.includes("undefined")) throw new Error("A file of the dashboard was not built.");
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "index.html"), html);
  return page.metafile;
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) await buildDashboard(resolve(process.argv[2] ?? "build/dashboard"));
