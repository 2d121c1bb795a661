import { existsSync } from "node:fs";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";

/**
 * Links packages and everything they depend on, as installed in `project`, into the node_modules of `consumer`, which then needs nothing from the folders above it.
 * A dependency that the project lacks is named, whatever else the machine has.
 */
export async function linkPackages(names: readonly string[], { project, consumer }: { readonly project: string; readonly consumer: string }): Promise<void> {
  const linked = new Map<string, string>();
  const queue = names.map((name) => ({ name, neededBy: project }));
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const folder = installedFolder(next.name, next.neededBy, project);
    const other = linked.get(next.name);
    if (other === folder) continue;
    if (other !== undefined) throw new Error(`${next.name} is needed in two versions, ${other} and ${folder}: one flat node_modules cannot hold both.`);
    linked.set(next.name, folder);
    const target = join(consumer, "node_modules", next.name);
    await mkdir(dirname(target), { recursive: true });
    await symlink(folder, target);
    const { dependencies = {} } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as { readonly dependencies?: Readonly<Record<string, string>> };
    queue.push(...Object.keys(dependencies).map((dependency) => ({ name: dependency, neededBy: folder })));
  }
}

/** Where `neededBy` finds a package: in its own node_modules or in those of the folders above it, up to the project and no further. */
function installedFolder(name: string, neededBy: string, project: string): string {
  for (let folder = neededBy; ; folder = dirname(folder)) {
    const found = join(folder, "node_modules", name);
    if (existsSync(join(found, "package.json"))) return found;
    if (folder === project || folder === dirname(folder)) throw new Error(`${name}, which ${neededBy} depends on, is not installed in ${project}. Run: npm ci`);
  }
}
