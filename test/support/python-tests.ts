import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Finished } from "./cli-process.ts";
import { startProgram } from "./cli-process.ts";
import type { NetworkFault } from "./fault-proxy.ts";
import { FaultProxy } from "./fault-proxy.ts";
import type { HttpProcess } from "./http-process.ts";
import { startHttpProcess } from "./http-process.ts";

export const pythonFolder = fileURLToPath(new URL("../../python/", import.meta.url));

/** An interpreter that the client supports; several may be installed, and the first one on the PATH too old. */
export function requirePython(): string {
  const isNewEnough = (program: string): boolean => spawnSync(program, ["-c", "import sys; sys.exit(sys.version_info < (3, 10))"]).status === 0;
  const found = ["python3", "/usr/bin/python3", "python", "python3.13", "python3.12", "python3.11", "python3.10"].find(isNewEnough);
  if (found === undefined) throw new Error("The tests of the Python client need Python 3.10 or newer. On Debian or Ubuntu: apt-get install python3");
  return found;
}

/** A `holdfast serve` with a fault proxy before it, and a door through which a test in Python changes both. */
export interface PythonBench extends AsyncDisposable {
  readonly url: string;
  /** Runs a program of the client's; `fromSource` false: with the package that the interpreter has. */
  run(python: string, args: readonly string[], options?: { readonly fromSource?: boolean; readonly cwd?: string }): Promise<Finished>;
}

export async function openPythonBench(main: string, folder: string): Promise<PythonBench> {
  const args = ["--store", `sqlite:${join(folder, "python.db")}`, "--rate-limit", "1000000"];
  let server: HttpProcess = await startHttpProcess(main, args);
  const { url, port } = server;
  const proxy = await FaultProxy.open(port);
  const acts: Readonly<Record<string, (given: unknown) => Promise<unknown>>> = {
    fault: (given) => proxy.set(given as NetworkFault),
    heal: () => proxy.heal(),
    counters: async () => proxy.counters,
    /** The server dies and comes back at its address. */
    restart: async () => {
      await server.stop("SIGKILL");
      server = await startHttpProcess(main, [...args, "--port", String(port)]);
    },
  };
  const door = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    try {
      response.end(JSON.stringify((await acts[(request.url ?? "").slice(1)]?.(JSON.parse(body || "null"))) ?? null));
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  }).listen(0, "127.0.0.1");
  await once(door, "listening");
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    PYTHONDONTWRITEBYTECODE: "1",
    PYTHONWARNINGS: "error::ResourceWarning",
    HOLDFAST_TEST_URL: url,
    HOLDFAST_TEST_PROXY: `http://127.0.0.1:${proxy.port}`,
    HOLDFAST_TEST_CONTROL: `http://127.0.0.1:${(door.address() as AddressInfo).port}`,
    HOLDFAST_TEST_COMMAND: JSON.stringify([process.execPath, main]),
  };
  return {
    url,
    run: (python, given, { fromSource = true, cwd = pythonFolder } = {}) =>
      startProgram(python, given, { cwd, env: { ...env, ...(fromSource ? { PYTHONPATH: join(pythonFolder, "src") } : {}) } }).finished,
    async [Symbol.asyncDispose]() {
      door.close();
      door.closeAllConnections();
      await proxy[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}
