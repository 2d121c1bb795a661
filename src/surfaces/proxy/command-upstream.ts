import { spawn } from "node:child_process";
import type { Clock } from "../../kernel/clock.ts";
import type { OpenUpstream } from "./upstream.ts";

export interface CommandUpstream {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
}

/** How long a server may take to exit after its input closes. Then it gets SIGTERM, and after the same time again SIGKILL. */
const endMsMax = 3_000;
/** How long to wait for output after the process exits: its children may hold the output open forever. */
const lastOutputMsMax = 500;

/** A server started as a child process that speaks MCP over stdin and stdout. It inherits the proxy's stderr. */
export function commandUpstream({ command, args, env, clock }: CommandUpstream): OpenUpstream {
  return () => {
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"], env });
    const ended = new Promise<string>((resolve) => {
      child.once("error", ({ code }: NodeJS.ErrnoException) => resolve(code === "ENOENT" ? "was not found" : `cannot be started (${code ?? "unknown reason"})`));
      child.once("exit", (code, signal) => {
        const words = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;
        child.once("close", () => resolve(words));
        void clock.sleep(lastOutputMsMax).then(() => resolve(words));
      });
    });
    const endsWithin = async (ms: number): Promise<boolean> => {
      const late = new AbortController();
      const isOver = await Promise.race([ended.then(() => true), clock.sleep(ms, late.signal).then(() => false)]);
      late.abort();
      return isOver;
    };
    return {
      stdin: child.stdin,
      stdout: child.stdout,
      ended,
      async stop() {
        child.stdin.end();
        for (const signal of ["SIGTERM", "SIGKILL"] as const) {
          if (await endsWithin(endMsMax)) return;
          child.kill(signal);
        }
        await ended;
      },
    };
  };
}
