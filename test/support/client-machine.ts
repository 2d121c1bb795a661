import { lstatSync, readlinkSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ClientFolders } from "../../src/install/client-folders.ts";
import type { ChangeRequest } from "../../src/install/plan-change.ts";
import { planChange } from "../../src/install/plan-change.ts";
import type { WrapRequest } from "../../src/install/plan-wrap.ts";
import { planWrap } from "../../src/install/plan-wrap.ts";
import { catalog } from "../../src/tools/catalog.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const running = { execPath: "/opt/node", script: "/srv/holdfast/dist/main.js", platform: "linux" } as const;

const everyTool = catalog.map(({ name }) => name);

/** A machine with an empty home folder and an empty project, on which clients are set up. */
export async function openMachine({ script = running.script, ...over }: Partial<ClientFolders> & { readonly script?: string } = {}) {
  const folder = await temporaryFolder();
  const places: ClientFolders = {
    home: join(folder, "home"),
    project: join(folder, "project"),
    platform: "linux",
    dataFolder: join(folder, "home", ".local", "share", "holdfast"),
    ...over,
  };
  await mkdir(places.home, { recursive: true });
  await mkdir(places.project, { recursive: true });
  const plan = (request: Partial<ChangeRequest> & Pick<ChangeRequest, "client">, nowMs = 0) =>
    planChange({ action: "install", scope: "user", serverOnly: false, serverArgs: [], hookArgs: [], tools: everyTool, ...request }, places, { ...running, script }, nowMs);
  return {
    folder,
    places,
    plan,
    change: async (request: Parameters<typeof plan>[0], nowMs?: number) => {
      const planned = await plan(request, nowMs);
      return { ...planned, ...(await planned.apply()) };
    },
    /** Puts the proxy in front of a server, or takes it away. */
    wrap: async (request: Partial<WrapRequest> & Pick<WrapRequest, "server">) => {
      const planned = await planWrap({ action: "install", scope: "user", serverArgs: [], ...request }, places, { ...running, script });
      return { ...planned, ...(await planned.apply()) };
    },
    /** Every file with its content and mode, and every folder. */
    tree: async () => {
      const found: Record<string, string> = {};
      for (const item of (await readdir(folder, { recursive: true, withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1))) {
        const path = join(item.parentPath, item.name);
        const mode = (lstatSync(path).mode & 0o777).toString(8);
        found[path.slice(folder.length)] = item.isFile() ? `${mode} ${await readFile(path, "utf8")}` : item.isSymbolicLink() ? `-> ${readlinkSync(path)}` : "folder";
      }
      return found;
    },
    put: async (path: string, text: string, mode = 0o660) => {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
      await chmod(path, mode);
      return path;
    },
  };
}
