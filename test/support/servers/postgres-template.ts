import { execFile, execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { appendFile, chown, mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { projectRoot, requirePostgresPrograms } from "./server-programs.ts";

const run = promisify(execFile);

/** Who has to run the server: itself, or somebody else where the tests run as root, which PostgreSQL refuses. */
export interface ServerUser {
  readonly uid?: number;
  readonly gid?: number;
}

export const superuser = { name: "postgres", password: "super-secret" } as const;
/** May connect and create schemas in its database, and nothing else. */
export const ordinaryUser = { name: "holdfast", password: "holdfast-secret", database: "holdfast" } as const;

/** A variable of the caller's, such as PGPORT, must not reach the server or its tools. */
export const serverEnvironment = { PATH: process.env.PATH ?? "/usr/bin:/bin", LANG: "C.UTF-8", TZ: "UTC" };

export const serverUser: ServerUser = process.platform === "win32" || userInfo().uid !== 0 ? {} : (idsOf("postgres") ?? idsOf("nobody") ?? {});

function idsOf(name: string): ServerUser | undefined {
  try {
    const id = (flag: string): number => Number(execFileSync("id", [flag, name], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
    return { uid: id("-u"), gid: id("-g") };
  } catch {
    return undefined;
  }
}

/** A folder that the server's user may fill. */
export async function serverFolder(root = tmpdir()): Promise<string> {
  const folder = await mkdtemp(join(root, "holdfast-postgres-"));
  await giveToServer(folder);
  return folder;
}

export async function giveToServer(path: string): Promise<void> {
  if (serverUser.uid !== undefined && serverUser.gid !== undefined) await chown(path, serverUser.uid, serverUser.gid);
}

let made: Promise<string> | undefined;

/** A cluster as `initdb` makes it, made once per machine and version and then copied: a fraction of the time. */
export function requireTemplate(): Promise<string> {
  made ??= findOrMake();
  return made;
}

export async function copyTemplate(target: string): Promise<void> {
  // Node's own copy neither keeps the owner nor is it quick with a thousand files.
  await run("cp", ["-a", await requireTemplate(), target]);
}

async function findOrMake(): Promise<string> {
  const { version } = await requirePostgresPrograms();
  // The number at the end: raised when what is made below changes.
  const template = join(process.env.HOLDFAST_TEST_CACHE ?? join(projectRoot, ".cache"), "postgres-template", `${version.replaceAll(/[^\w.]/g, "-")}-${serverUser.uid ?? "own"}-2`);
  if (existsSync(template)) return template;
  const folder = await serverFolder();
  try {
    const data = join(folder, "data");
    await initialise(folder, data);
    await mkdir(dirname(template), { recursive: true });
    const draft = `${template}.${process.pid}`;
    await run("cp", ["-a", data, draft]);
    // Another run may have been quicker; both made the same.
    await rename(draft, template).catch(() => rm(draft, { recursive: true, force: true }));
    return template;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function initialise(folder: string, data: string): Promise<void> {
  const programs = await requirePostgresPrograms();
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, superuser.password);
  const common = ["-D", data, "--username", superuser.name, "--pwfile", passwordFile, "--auth", "scram-sha-256", "--encoding", "UTF8", "--no-sync"];
  // Sorted as people do it where the server can: a statement that forgot to ask for byte order shows itself.
  const human = ["--locale", "C.UTF-8", "--locale-provider", "icu", "--icu-locale", "en-US"];
  const options = { ...serverUser, env: serverEnvironment, cwd: folder };
  await run(programs.path("initdb"), [...common, ...human], options).catch(async () => {
    await rm(data, { recursive: true, force: true });
    await run(programs.path("initdb"), [...common, "--locale", "C"], options);
  });
  await appendFile(
    join(data, "postgresql.conf"),
    "\n# One loopback port, chosen at the start, and no socket in a folder.\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\n",
  );
  // Databases that no test opens are left out: a copy is as slow as its files are many.
  const statements = [
    `CREATE ROLE ${ordinaryUser.name} LOGIN PASSWORD '${ordinaryUser.password}'`,
    `ALTER DATABASE postgres RENAME TO ${ordinaryUser.database}`,
    `ALTER DATABASE ${ordinaryUser.database} OWNER TO ${ordinaryUser.name}`,
    "UPDATE pg_database SET datistemplate = false WHERE datname = 'template0'",
    "DROP DATABASE template0",
  ];
  const single = run(programs.path("postgres"), ["--single", "-D", data, "template1"], options);
  single.child.stdin?.end(`${statements.join("\n")}\n`);
  await single;
}
