import { execFile } from "node:child_process";
import { appendFile, chmod, copyFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { onFreePort } from "./free-port.ts";
import { loopbackCertificate } from "./loopback-certificate.ts";
import { copyTemplate, giveToServer, ordinaryUser, serverEnvironment, serverFolder, serverUser, superuser } from "./postgres-template.ts";
import type { ServerStart } from "./server-process.ts";
import { ServerProcess } from "./server-process.ts";
import { requirePostgresPrograms } from "./server-programs.ts";

const run = promisify(execFile);

export interface PostgresOptions {
  /** Settings by name, for example `{ max_connections: "20" }`; everything else is as PostgreSQL has it by default. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Takes TLS connections too, with the certificate of `loopbackCertificate`. */
  readonly tls?: boolean;
  /** The folder that its own folder is made in; the system's temporary one if not said. */
  readonly root?: string;
}

export class PostgresServer extends ServerProcess {
  readonly port: number;
  /** As a role that may connect and create schemas in its own database, and nothing else. */
  readonly url: string;
  readonly superuserUrl: string;
  readonly #psql: string;

  constructor(start: ServerStart, port: number, psql: string) {
    super(start);
    this.port = port;
    this.url = urlOf(ordinaryUser, port);
    this.superuserUrl = urlOf(superuser, port);
    this.#psql = psql;
  }

  /** The rows of one statement, columns separated by "|", by psql as the superuser in the ordinary database. */
  async query(sql: string): Promise<string> {
    const args = ["--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set", "ON_ERROR_STOP=1", "--dbname", this.superuserUrl, "--command", sql];
    return (await run(this.#psql, args, { env: serverEnvironment })).stdout.trim();
  }

  /** Ends following and takes writes from then on; resolves when it does. Only for a replica. */
  async promote(): Promise<void> {
    await this.query("SELECT pg_promote(true, 20)");
    while ((await this.query("SELECT pg_is_in_recovery()")) !== "f") await delay(20);
  }
}

const urlOf = ({ name, password }: { readonly name: string; readonly password: string }, port: number): string =>
  `postgres://${name}:${password}@127.0.0.1:${port}/${ordinaryUser.database}`;

/** A PostgreSQL of its own on a free loopback port, in a temporary folder, with its default settings. */
export function startPostgres({ settings = {}, tls = false, root }: PostgresOptions = {}): Promise<PostgresServer> {
  return onFreePort(async (port) => {
    const folder = await serverFolder(root);
    await copyTemplate(join(folder, "data"));
    return launch(port, folder, tls ? { ...settings, ...(await tlsSettings(folder)) } : settings);
  });
}

/** The server insists that the key is its own user's and nobody else's to read. */
async function tlsSettings(folder: string): Promise<Readonly<Record<string, string>>> {
  const { certFile, keyFile } = await loopbackCertificate();
  const own = { ssl_cert_file: join(folder, "cert.pem"), ssl_key_file: join(folder, "key.pem") };
  await Promise.all([copyFile(certFile, own.ssl_cert_file), copyFile(keyFile, own.ssl_key_file)]);
  await chmod(own.ssl_key_file, 0o600);
  await Promise.all([giveToServer(own.ssl_cert_file), giveToServer(own.ssl_key_file)]);
  return { ssl: "on", ...own };
}

/** A copy of `primary` that follows it by streaming. */
export async function startReplica(primary: Pick<PostgresServer, "superuserUrl">, { settings = {} }: PostgresOptions = {}): Promise<PostgresServer> {
  const programs = await requirePostgresPrograms();
  return onFreePort(async (port) => {
    const folder = await serverFolder();
    const args = ["-D", join(folder, "data"), "-d", primary.superuserUrl, "--write-recovery-conf", "--checkpoint=fast", "--no-sync"];
    await run(programs.path("pg_basebackup"), args, { ...serverUser, env: serverEnvironment, cwd: folder });
    return launch(port, folder, settings);
  });
}

async function launch(port: number, folder: string, settings: Readonly<Record<string, string>>): Promise<PostgresServer> {
  const programs = await requirePostgresPrograms();
  const data = join(folder, "data");
  const lines = Object.entries({ ...settings, port: String(port) }).map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`);
  await appendFile(join(data, "postgresql.conf"), lines.join(""));
  const options = { ...serverUser, env: serverEnvironment, cwd: folder };
  const start = {
    name: programs.version,
    file: programs.path("postgres"),
    args: ["-D", data],
    options,
    folder,
    logFile: join(folder, "server.log"),
    isReady: (pid: number) => isReady(data, pid),
    stopSignal: "SIGINT",
    endSignal: "SIGQUIT",
    // Sets up shared memory as for a start, which removes what is left of the one before, and ends. Older servers do not know it: then a segment stays.
    clearAfterKill: () =>
      run(programs.path("postgres"), ["--check", "-D", data], options).then(
        () => {},
        () => {},
      ),
  } as const;
  return new PostgresServer(start, port, programs.path("psql")).start();
}

/** The server's own note beside its data: whose it is, and, in the eighth line, how far its start is. */
async function isReady(data: string, pid: number): Promise<boolean> {
  const lines = (await readFile(join(data, "postmaster.pid"), "utf8")).split("\n");
  return Number(lines[0]) === pid && ["ready", "standby"].includes((lines[7] ?? "").trim());
}
