import type { ChildProcess } from "node:child_process";
import type { Finished } from "./cli-process.ts";
import { startExecutable } from "./cli-process.ts";

/** `holdfast serve` as a process of its own. */
export interface HttpProcess extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
  /** Asks it to end and gives what it came to. */
  stop(signal?: NodeJS.Signals): Promise<Finished>;
}

/** Resolves when it listens, on a free port unless `args` say otherwise. `env` is all of its environment but PATH. */
export async function startHttpProcess(main: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<HttpProcess> {
  const { child, finished, saw } = startExecutable(main, ["serve", "--json", ...(args.includes("--port") ? [] : ["--port", "0"]), ...args], {
    env: { PATH: process.env.PATH, HOLDFAST_PROFILE: "all", ...env },
  });
  const { url } = JSON.parse((await saw(/\n/)).split("\n")[0] as string) as { readonly url: string };
  const stop = (signal: NodeJS.Signals = "SIGTERM"): Promise<Finished> => {
    child.kill(signal);
    return finished;
  };
  return {
    url,
    port: Number(new URL(url).port),
    pid: child.pid as number,
    child,
    finished,
    stop,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) await stop("SIGKILL");
    },
  };
}
