import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort, onFreePort } from "./free-port.ts";
import { loopbackCertificate } from "./loopback-certificate.ts";
import type { RedisReply } from "./redis-wire.ts";
import { redisCommand } from "./redis-wire.ts";
import type { ServerStart } from "./server-process.ts";
import { ServerProcess } from "./server-process.ts";
import { requireRedisPrograms } from "./server-programs.ts";

export interface RedisOptions {
  readonly appendfsync?: "always" | "everysec" | "no";
  /** More settings as on the command line, for example `["--maxmemory", "10mb"]`. */
  readonly args?: readonly string[];
  readonly password?: string;
  /** The folder that its own folder is made in; the system's temporary one if not said. */
  readonly root?: string;
  /** Also listens with TLS: see `tlsUrl`. */
  readonly tls?: boolean;
}

export class RedisServer extends ServerProcess {
  readonly port: number;
  readonly url: string;
  readonly #password: string;
  readonly #tlsPort: number | undefined;

  constructor(start: ServerStart, port: number, password: string, tlsPort?: number) {
    super(start);
    this.port = port;
    this.url = `redis://${credentials(password)}127.0.0.1:${port}`;
    this.#password = password;
    this.#tlsPort = tlsPort;
  }

  /** The same server over TLS, with the certificate of `loopbackCertificate`. */
  get tlsUrl(): string {
    if (this.#tlsPort === undefined) throw new Error("This Redis was started without TLS.");
    return `rediss://${credentials(this.#password)}127.0.0.1:${this.#tlsPort}`;
  }

  /** One command on a new connection, without a driver. */
  command(...words: readonly (string | number)[]): Promise<RedisReply> {
    return redisCommand(this.port, words, { password: this.#password });
  }

  /** Asks until the answer is yes. */
  async waitUntil(what: string, holds: () => Promise<boolean>, withinMs = 60_000): Promise<void> {
    const untilMs = performance.now() + withinMs;
    while (!(await holds())) {
      if (performance.now() > untilMs) throw new Error(`The Redis on port ${this.port} did not ${what} within ${withinMs / 1_000} s.\n${(await this.log()).slice(-2_000)}`);
      await delay(25);
    }
  }
}

const credentials = (password: string): string => (password === "" ? "" : `:${encodeURIComponent(password)}@`);

/** A Redis (or Valkey) of its own on a free loopback port, with its log of writes in a temporary folder and no snapshots. */
export function startRedis({ appendfsync = "always", args = [], password = "", tls = false, root }: RedisOptions = {}): Promise<RedisServer> {
  const secret = password === "" ? [] : ["--requirepass", JSON.stringify(password), "--masterauth", JSON.stringify(password)];
  // A replica is served at once; by default a primary waits five seconds for more of them to come.
  const settings = ["--appendonly", "yes", "--appendfsync", appendfsync, "--save", "", "--repl-diskless-sync-delay", "0", ...secret, ...args];
  return onFreePort(async (port) => {
    if (!tls) return launchRedis(port, settings, { password, root });
    const [tlsPort, { certFile, keyFile }] = await Promise.all([freePort(), loopbackCertificate()]);
    const files = ["--tls-cert-file", certFile, "--tls-key-file", keyFile, "--tls-ca-cert-file", certFile, "--tls-auth-clients", "no"];
    return launchRedis(port, [...settings, "--tls-port", String(tlsPort), ...files], { password, tlsPort, root });
  });
}

/** A replica of `primary`, with its first copy complete; `command("REPLICAOF", "NO", "ONE")` promotes it. */
export async function startReplicaOf(primary: Pick<RedisServer, "port">, { args = [], ...options }: RedisOptions = {}): Promise<RedisServer> {
  const replica = await startRedis({ ...options, args: ["--replicaof", "127.0.0.1", String(primary.port), ...args] });
  await replica.waitUntil("follow its primary", async () => String(await replica.command("INFO", "replication")).includes("master_link_status:up"));
  return replica;
}

/** With `flags` after the file's name it may be something else than a store: `--sentinel`. */
export async function launchRedis(
  port: number,
  args: readonly string[],
  {
    password = "",
    tlsPort,
    flags = [],
    root = tmpdir(),
  }: { readonly password?: string; readonly tlsPort?: number; readonly flags?: readonly string[]; readonly root?: string } = {},
): Promise<RedisServer> {
  const programs = await requireRedisPrograms();
  const folder = await mkdtemp(join(root, "holdfast-redis-"));
  // A file, not arguments: what a failover makes of a server is rewritten there and holds after a restart.
  const file = join(folder, "server.conf");
  await writeFile(file, settingLines(["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, ...args]));
  const start = {
    name: programs.version,
    file: programs.path("server"),
    args: [file, ...flags],
    folder,
    logFile: join(folder, "server.log"),
    isReady: (pid: number) => isReady(port, pid, password),
    stopSignal: "SIGTERM",
    endSignal: "SIGKILL",
  } as const;
  return new RedisServer(start, port, password, tlsPort).start();
}

/** As the server itself reads its arguments: every word with two dashes begins a setting. */
function settingLines(args: readonly string[]): string {
  const words = args.map((word) => (word === "" ? '""' : word));
  return `${words.map((word) => (word.startsWith("--") ? `\n${word.slice(2)}` : ` ${word}`)).join("")}\n`.trimStart();
}

/** It has read its log, and it is this one and not another server that took the port before it. */
async function isReady(port: number, pid: number, password: string): Promise<boolean> {
  const info = String(await redisCommand(port, ["INFO"], { timeoutMs: 500, password }));
  return info.includes(`process_id:${pid}\r\n`) && !info.includes("\nloading:1");
}
