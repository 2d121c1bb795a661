import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { inject } from "vitest";
import type { TestProject } from "vitest/node";
import { forgetGuarded, guardFolder, guardProcess } from "./servers/orphan-guard.ts";

declare module "vitest" {
  interface ProvidedContext {
    readonly sharedBuildsPort: number;
  }
}

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Ends with the run, however that ends: a build that went on alone would write into a folder that was removed. */
async function run(file: string, args: readonly string[], options: { readonly cwd?: string } = {}): Promise<{ readonly stdout: string }> {
  const running = promisify(execFile)(file, args, options);
  const pid = running.child.pid as number;
  guardProcess(pid);
  return running.finally(() => forgetGuarded(pid));
}

/** What several test files look at, each made from the sources as they are now; answers with a path. */
const makers = {
  /** The executable as the package has it. Below the project, where it finds the drivers that are not bundled. */
  executable: async (folder: string) => {
    const dist = join(folder, "dist");
    await run(process.execPath, [join(root, "scripts", "build.mjs"), "--out", dist, "--entry", join(root, "src", "main.ts")]);
    return join(dist, "main.js");
  },
  /** The dashboard's page. */
  page: async (folder: string) => {
    const page = join(folder, "page");
    await run(process.execPath, [join(root, "scripts", "build-dashboard.mjs"), page]);
    return page;
  },
  /** The project that a user has after installing the package, packed from dist/ as it would be published. Away from this project, whose packages it must not find. */
  installation: async () => {
    const project = await mkdtemp(join(tmpdir(), "holdfast-installation-"));
    const { stdout } = await run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", project], { cwd: root });
    // npm 11 answers a list, later ones a map by package name.
    const [packed] = Object.values(JSON.parse(stdout) as Record<string, { readonly filename: string }>);
    if (packed === undefined) throw new Error(`npm pack named no file: ${stdout}`);
    await writeFile(join(project, "package.json"), '{"private":true}\n');
    await run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", `./${packed.filename}`], { cwd: project });
    return project;
  },
} as const;

type Build = keyof typeof makers;

/** The path of a build, which is made when a test file first asks for it and kept until the run ends. */
export async function sharedBuild(name: Build): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${inject("sharedBuildsPort")}/${name}`);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${name} could not be built. ${text}`);
  return text;
}

/** Vitest's global set-up: test files run in processes of their own and ask over loopback; a run that needs no build waits for none. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const made = new Map<string, Promise<string>>();
  let folder: Promise<string> | undefined;
  const openFolder = async (): Promise<string> => {
    await mkdir(join(root, "build"), { recursive: true });
    const path = await mkdtemp(join(root, "build", "test-run-"));
    guardFolder(path);
    return path;
  };
  const make = async (name: Build): Promise<string> => {
    folder ??= openFolder();
    return makers[name](await folder);
  };
  const door = createServer((request, response) => {
    const name = (request.url ?? "").slice(1) as Build;
    if (!Object.hasOwn(makers, name)) return void response.writeHead(404).end(`There is no build ${name}.`);
    const path = made.get(name) ?? make(name);
    made.set(name, path);
    path.then(
      (text) => response.end(text),
      (error: Error & { readonly stderr?: string }) => response.writeHead(500).end(error.stderr || error.message),
    );
  });
  door.listen(0, "127.0.0.1").unref();
  await once(door, "listening");
  project.provide("sharedBuildsPort", (door.address() as AddressInfo).port);
  return async () => {
    door.close();
    await Promise.allSettled(made.values());
    if (folder === undefined) return;
    await rm(await folder, { recursive: true, force: true });
    forgetGuarded(await folder);
  };
}
