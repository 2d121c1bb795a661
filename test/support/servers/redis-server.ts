import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
}

/** A Redis (or Valkey) of its own on a free loopback port, with its log of writes in a temporary folder and no snapshots. */
export function startRedis({ appendfsync = "always", args = [], password = "" }: RedisOptions = {}): Promise<RedisServer> {
  const secret = password === "" ? [] : ["--requirepass", password, "--masterauth", password];
  return onFreePort((port) => launchRedis(port, ["--appendonly", "yes", "--appendfsync", appendfsync, "--save", "", ...secret, ...args], { password }));
}

/** A replica that follows `primary` from its start; `command("REPLICAOF", "NO", "ONE")` promotes it. */
export function startReplicaOf(primary: Pick<RedisServer, "port">, { args = [], ...options }: RedisOptions = {}): Promise<RedisServer> {
  return startRedis({ ...options, args: ["--replicaof", `127.0.0.1 ${primary.port}`, ...args] });
}

/** `words` come before the settings: `--sentinel`, or a configuration file that the server rewrites, which needs a folder made before. */
export async function launchRedis(
  port: number,
  settings: readonly string[],
  { words = [], password = "", folder }: { readonly words?: readonly string[]; readonly password?: string; readonly folder?: string } = {},
): Promise<RedisServer> {
  const programs = await requireRedisPrograms();
  const home = folder ?? (await redisFolder());
  const start = {
    name: programs.version,
    file: programs.path("server"),
    args: [...words, "--port", String(port), "--bind", "127.0.0.1", "--dir", home, "--daemonize", "no", ...settings],
    folder: home,
    logFile: join(home, "server.log"),
    isReady: (pid: number) => isReady(port, pid, password),
    stopSignal: "SIGTERM",
    endSignal: "SIGKILL",
  } as const;
  return new RedisServer(start, port, password).start();
}

export const redisFolder = (): Promise<string> => mkdtemp(join(tmpdir(), "holdfast-redis-"));

/** It has read its log, and it is this one and not another server that took the port before it. */
async function isReady(port: number, pid: number, password: string): Promise<boolean> {
  const info = String(await redisCommand(port, ["INFO"], { timeoutMs: 500, password }));
  return info.includes(`process_id:${pid}\r\n`) && !info.includes("\nloading:1");
}
