import { fstatSync } from "node:fs";
import { isatty } from "node:tty";
import { childEnvironment, defaultAgent, readConfig, settingFlags } from "./config.ts";
import { HoldfastError } from "./kernel/errors.ts";
import { openLog } from "./kernel/log.ts";
import { version } from "./kernel/version.ts";
import type { FlagValue } from "./surfaces/cli/argv.ts";
import { parseArgv } from "./surfaces/cli/argv.ts";
import type { VerifyAnswer, VerifyRequest } from "./surfaces/cli/command.ts";
import { describeFailure } from "./surfaces/cli/failure.ts";

const ownFlags = [...settingFlags, { name: "json" }, { name: "help" }, { name: "version" }];

/** argv to a surface; resolves to the exit code. Surfaces are loaded only when asked for, so that each starts fast. */
async function main(args: readonly string[]): Promise<number> {
  const { flags, words } = parseArgv(args, ownFlags, { untilWord: true });
  if (flags.version === true) return print(`${version}\n`);
  if (words[0] === verifyWorkerWord) {
    await (await import("./verify/worker.ts")).runVerifyWorker(process.stdin);
    return 0;
  }
  const servesMcp = flags.help !== true && (words[0] === "mcp" || (words.length === 0 && stdinIsPipe()));
  if (!servesMcp) return runCommandLine(args);
  const tail = parseArgv(words.slice(1), ownFlags);
  if (tail.flags.help === true) return runCommandLine(args);
  if (tail.words.length > 0) throw new HoldfastError("invalid_input", `mcp: takes no argument; it was given ${JSON.stringify(tail.words[0])}`);
  return serveMcp({ ...flags, ...tail.flags });
}

async function serveMcp(flags: Readonly<Record<string, FlagValue>>): Promise<number> {
  const config = readConfig(flags);
  const log = openLog(config.logLevel);
  // A defect in one call must not take the other callers' server away.
  process.on("uncaughtException", (error) => log("error", "uncaught_exception", { error: String(error), stack: error instanceof Error ? error.stack : undefined }));
  process.on("unhandledRejection", (reason) => log("error", "unhandled_rejection", { error: String(reason), stack: reason instanceof Error ? reason.stack : undefined }));
  const [{ openRuntime }, { serveMcpStdio }] = await Promise.all([import("./compose.ts"), import("./surfaces/mcp/serve-stdio.ts")]);
  await using runtime = await openRuntime(config, { stays: true });
  // Asked to end, the server behaves as if the client had closed its end: calls in flight may finish.
  onSignal(() => void process.stdin.destroy());
  const { base, tools } = runtime;
  await serveMcpStdio({ context: base, tools, log, stdin: process.stdin, stdout: process.stdout });
  return 0;
}

async function runCommandLine(args: readonly string[]): Promise<number> {
  // A reader that went away (`holdfast ls | head`) is no failure.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(0);
  });
  const { runCli } = await import("./surfaces/cli/run-cli.ts");
  return runCli(args, {
    version,
    flags: settingFlags,
    // Only when asked: opening it would take input away from a child that inherits it.
    stdin: () => process.stdin,
    stdinIsTerminal: isatty(0),
    stdout: process.stdout,
    stderr: process.stderr,
    open: async (flags) => (await import("./compose.ts")).openRuntime(readConfig(flags), { stays: false }),
    verify,
    defaultAgent,
    childEnvironment,
    onSignal,
  });
}

/** Workers are processes of this same executable; the hidden command is between it and itself. */
const verifyWorkerWord = "verify-worker";

async function verify(flags: Readonly<Record<string, FlagValue>>, request: VerifyRequest): Promise<VerifyAnswer> {
  const { store, origins } = readConfig(flags);
  const [{ runVerify }, { renderReport }] = await Promise.all([import("./verify/verify.ts"), import("./verify/report.ts")]);
  const worker = { file: process.execPath, args: [process.argv[1] as string, verifyWorkerWord] };
  const report = await runVerify({ ...request, worker, storeUrl: origins.store === "default" ? undefined : store });
  return { passed: report.passed, report, text: renderReport(report) };
}

function onSignal(listener: (signal: NodeJS.Signals) => void): () => void {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, listener);
  return () => {
    for (const signal of signals) process.off(signal, listener);
  };
}

/** A pipe, socket or file brings protocol; a terminal, /dev/null or nothing at all does not. */
function stdinIsPipe(): boolean {
  try {
    const stdin = fstatSync(0);
    return stdin.isFIFO() || stdin.isSocket() || stdin.isFile();
  } catch {
    return false;
  }
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

// Watching a quiet store leaves nothing that would keep the process alive by itself.
const alive = setInterval(() => {}, 2 ** 30);
let exitCode: number;
try {
  exitCode = await main(process.argv.slice(2));
} catch (error) {
  const failure = describeFailure(error);
  exitCode = failure.exitCode;
  process.stderr.write(failure.line);
}
clearInterval(alive);
// Exit at once when the last output is out: an open pipe on stdin must not keep a finished command alive.
process.stdout.write("", () => process.exit(exitCode));
