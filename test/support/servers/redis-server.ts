import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { onFreePort } from "./free-port.ts";
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
}

export class RedisServer extends ServerProcess {
  readonly port: number;
  readonly url: string;
  readonly #password: string;

  constructor(start: ServerStart, port: number, password: string) {
    super(start);
    this.port = port;
    this.url = `redis://${password === "" ? "" : `:${encodeURIComponent(password)}@`}127.0.0.1:${port}`;
    this.#password = password;
  }

  /** One command on a new connection, without a driver. */
  command(...words: readonly (string | number)[]): Promise<RedisReply> {
    return redisCommand(this.port, words, { password: this.#password });
  }

  /** Asks until the answer is yes. */
  async waitUntil(what: string, holds: () => Promise<boolean>, withinMs = 20_000): Promise<void> {
    const untilMs = performance.now() + withinMs;
    while (!(await holds())) {
      if (performance.now() > untilMs) throw new Error(`The Redis on port ${this.port} did not ${what} within ${withinMs / 1_000} s.\n${(await this.log()).slice(-2_000)}`);
      await delay(25);
    }
  }
}

/** A Redis (or Valkey) of its own on a free loopback port, with its log of writes in a temporary folder and no snapshots. */
export function startRedis({ appendfsync = "always", args = [], password = "" }: RedisOptions = {}): Promise<RedisServer> {
  const secret = password === "" ? [] : ["--requirepass", JSON.stringify(password), "--masterauth", JSON.stringify(password)];
  // A replica is served at once; by default a primary waits five seconds for more of them to come.
  const settings = ["--appendonly", "yes", "--appendfsync", appendfsync, "--save", "", "--repl-diskless-sync-delay", "0", ...secret, ...args];
  return onFreePort((port) => launchRedis(port, settings, { password }));
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
  { password = "", flags = [] }: { readonly password?: string; readonly flags?: readonly string[] } = {},
): Promise<RedisServer> {
  const programs = await requireRedisPrograms();
  const folder = await mkdtemp(join(tmpdir(), "holdfast-redis-"));
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
  return new RedisServer(start, port, password).start();
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
