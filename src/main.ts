import { fstatSync, realpathSync, writeSync } from "node:fs";
import { isatty } from "node:tty";
import { fileURLToPath } from "node:url";
import type { Runtime } from "./compose.ts";
import type { Config } from "./config.ts";
import { childEnvironment, clientFolders, defaultAgent, gitEnvironment, readConfig, settingArguments, terminalSession } from "./config.ts";
import { errorCodes, HoldfastError, isHoldfastError } from "./kernel/errors.ts";
import type { Log } from "./kernel/log.ts";
import { openLog, silentLog } from "./kernel/log.ts";
import { mustBeOneOf } from "./kernel/nearest.ts";
import { hasPassword, shownUrl } from "./kernel/store-url.ts";
import { version } from "./kernel/version.ts";
import { settingFlags } from "./settings.ts";
import type { FlagValue } from "./surfaces/cli/argv.ts";
import { parseArgv } from "./surfaces/cli/argv.ts";
import type { ClientChange, ClientPlan, OpenRequest, ServeAnswer, ServerPrintout, VerifyAnswer, VerifyRequest } from "./surfaces/cli/command.ts";
import { describeFailure } from "./surfaces/cli/failure.ts";
import type { HookEvent } from "./surfaces/hooks/hook-events.ts";
import { hookEvents, isHookEvent } from "./surfaces/hooks/hook-events.ts";
import type { GuaranteeReport } from "./verify/report.ts";

const ownFlags = [...settingFlags, { name: "json" }, { name: "help" }, { name: "version" }];

/** argv to a surface; resolves to the exit code. Surfaces are loaded only when asked for, so that each starts fast. */
async function main(args: readonly string[]): Promise<number> {
  const { flags, words } = parseArgv(args, ownFlags, { untilWord: true });
  if (flags.version === true || (words[0] === "version" && words.length === 1)) return print(`${version}\n`);
  if (words[0] === verifyWorkerWord) {
    await (await import("./verify/worker.ts")).runVerifyWorker(process.stdin);
    return 0;
  }
  if (words[0] === "hook" && flags.help !== true && !asksHelp(words)) return answerHook(flags, words.slice(1));
  if (words[0] === "connect" && flags.help !== true && !asksHelp(words)) return connect(flags, words.slice(1));
  const servesMcp = flags.help !== true && (words[0] === "mcp" || (words.length === 0 && stdinIsPipe()));
  if (!servesMcp) return runCommandLine(args);
  const tail = parseArgv(words.slice(1), ownFlags);
  if (tail.flags.help === true) return runCommandLine(args);
  if (tail.words.length > 0) throw new HoldfastError("invalid_input", `mcp: takes no argument; it was given ${JSON.stringify(tail.words[0])}`);
  return serveMcp({ ...flags, ...tail.flags });
}

async function serveMcp(flags: Readonly<Record<string, FlagValue>>): Promise<number> {
  outputMatters = false;
  const config = readConfig(flags);
  const log = openLog(config.logLevel);
  surviveDefects(log);
  const [{ openRuntime }, { serveMcpStdio }] = await Promise.all([import("./compose.ts"), import("./surfaces/mcp/serve-stdio.ts")]);
  await using runtime = await openRuntime(config, { stays: true, traces: true }).catch((error) => {
    throw namingStore(error, config);
  });
  // Asked to end, the server behaves as if the client had closed its end: calls in flight may finish.
  onSignal(() => void process.stdin.destroy());
  const { base, tools } = runtime;
  await serveMcpStdio({ context: base, tools, log, stdin: process.stdin, stdout: process.stdout });
  return 0;
}

/** A defect in one call must not take the other callers' server away. */
function surviveDefects(log: Log): void {
  process.on("uncaughtException", (error) => log("error", "uncaught_exception", { error: String(error), stack: error instanceof Error ? error.stack : undefined }));
  process.on("unhandledRejection", (reason) => log("error", "unhandled_rejection", { error: String(reason), stack: reason instanceof Error ? reason.stack : undefined }));
}

/** Passes MCP on to a server; nothing of the store and the tools is loaded. */
async function connect(flags: Readonly<Record<string, FlagValue>>, args: readonly string[]): Promise<number> {
  outputMatters = false;
  const { flags: more, words } = parseArgv(args, ownFlags);
  const [address, another] = words;
  if (address === undefined || another !== undefined) throw new HoldfastError("invalid_input", "connect: takes one address, for example holdfast connect http://127.0.0.1:8000");
  const config = readConfig({ ...flags, ...more });
  const log = openLog(config.logLevel);
  surviveDefects(log);
  const [{ bridge }, { isInTheClear, requireTarget }, { BridgeCredential }, { systemClock }] = await Promise.all([
    import("./surfaces/connect/bridge.ts"),
    import("./surfaces/connect/target.ts"),
    import("./surfaces/connect/credential.ts"),
    import("./kernel/clock.ts"),
  ]);
  const url = requireTarget(address);
  const credential = new BridgeCredential(config);
  if (isInTheClear(url) && credential.headers.authorization !== undefined)
    log("warn", "token_in_the_clear", {
      to: url.host,
      hint: "The token is sent over plain http, which others on the network can read. Use https, or a tunnel to a loopback address.",
    });
  onSignal(() => void process.stdin.destroy());
  const wasAnswered = await bridge({ url, credential, log, clock: systemClock, stdin: process.stdin, stdout: process.stdout });
  return wasAnswered ? 0 : errorCodes.unavailable.exit;
}

/** The page's files lie beside the executable. */
const dashboardFolder = (): string => fileURLToPath(new URL("dashboard", import.meta.url));

async function serve(flags: Readonly<Record<string, FlagValue>>): Promise<ServeAnswer> {
  outputMatters = false;
  const config = readConfig(flags);
  const log = openLog(config.logLevel);
  surviveDefects(log);
  const { openServing } = await import("./compose-serving.ts");
  return openServing(config, { dashboardFolder: dashboardFolder(), log }).catch((error) => {
    throw namingStore(error, config);
  });
}

/** A mistyped event is a mistake of whoever wrote the hook, who sees standard error. Clients take 2, the code of wrong arguments, as a wish to stop the agent. */
const unknownHookExit = 1;

/** An agent waits for its hook and can do nothing about its troubles: whatever happens to a known event, nothing is printed and the exit code is 0. */
async function answerHook(flags: Readonly<Record<string, FlagValue>>, args: readonly string[]): Promise<number> {
  outputMatters = false;
  const event = eventOf(args);
  if (event !== undefined && !isHookEvent(event)) {
    process.stderr.write(`holdfast: hook: ${mustBeOneOf(event, hookEvents)}\n`);
    return unknownHookExit;
  }
  const config = event === undefined ? undefined : hookConfig(flags, args);
  if (event === undefined || config === undefined) return 0;
  // Counted from the start of the process. A store that is busy or a disk that hangs must not hold up the agent.
  const late = new Promise<string>((resolve) => setTimeout(resolve, config.hookTimeoutMs - performance.now(), "").unref());
  const answer = hookAnswer(event, config).catch(() => "");
  return print(await Promise.race([answer, late]));
}

/** Undefined: the flags are not understood, which is no failure of a hook. */
function eventOf(args: readonly string[]): string | undefined {
  try {
    return parseArgv(args, ownFlags).words[0] ?? "";
  } catch {
    return undefined;
  }
}

/** Undefined: the settings are not understood, which is none either. */
function hookConfig(flags: Readonly<Record<string, FlagValue>>, args: readonly string[]): Config | undefined {
  try {
    return readConfig({ ...flags, ...parseArgv(args, ownFlags).flags });
  } catch {
    return undefined;
  }
}

async function hookAnswer(event: HookEvent, config: Config): Promise<string> {
  const [{ runHook }, { readHookInput }, { openStore }] = await Promise.all([
    import("./surfaces/hooks/run-hook.ts"),
    import("./surfaces/hooks/hook-input.ts"),
    import("./compose.ts"),
  ]);
  if (config.readOnly && event !== "session-start") return "";
  try {
    const input = isatty(0) ? {} : await readHookInput(process.stdin);
    // Whoever only looks for something to tell, or ends without having saved anything, leaves no empty store behind.
    await using opened = await openStore(config, { stays: false, log: silentLog, creates: event === "pre-compact" });
    const { surroundings } = opened.base.server;
    const { journalAgeMs: ttlMs, hookTimeoutMs: timeoutMs } = config;
    return surroundings === undefined ? "" : await runHook(event, input, { scope: opened.base, surroundings, gitEnvironment: gitEnvironment(), ttlMs, timeoutMs });
  } catch (error) {
    // Whoever looks for the reason asks for it with --log-level debug.
    openLog(config.logLevel)("debug", "hook_failed", { problem: error instanceof Error ? error.stack : String(error) });
    return "";
  }
}

const asksHelp = (words: readonly string[]): boolean => words.includes("--help") || words.includes("-h");

async function runCommandLine(args: readonly string[]): Promise<number> {
  const { runCli } = await import("./surfaces/cli/run-cli.ts");
  return runCli(args, {
    version,
    flags: settingFlags,
    // Only when asked: opening it would take input away from a child that inherits it.
    stdin: () => process.stdin,
    stdinIsTerminal: isatty(0),
    stdout: process.stdout,
    stderr: process.stderr,
    open: openForCommand,
    openScratch: async () => (await import("./compose.ts")).openScratch(),
    verify,
    planClientChange,
    printServer,
    serve,
    defaultAgent,
    terminalSession,
    childEnvironment,
    onSignal,
  });
}

async function openForCommand(flags: Readonly<Record<string, FlagValue>>, { stays = false, onlyLooks = false }: OpenRequest = {}): Promise<Runtime> {
  const config = readConfig(flags);
  const { openRuntime } = await import("./compose.ts");
  return openRuntime(config, { stays, creates: !onlyLooks && !config.readOnly }).catch((error) => {
    throw namingStore(error, config);
  });
}

/** A store that cannot be opened is named, with where its name came from and the system's own code: whoever started us may know them. Callers of tools never see this. */
function namingStore(error: unknown, { store, origins }: Config): unknown {
  if (!isHoldfastError(error) || error.code === "invalid_input") return error;
  const { code } = (error.cause ?? {}) as { readonly code?: unknown };
  const reason = typeof code === "string" ? `, ${code}` : "";
  const storeText = `store: ${shownUrl(store)} (from ${origins.store === "default" ? "the default" : origins.store}${reason})`;
  return new HoldfastError(error.code, `${error.message.replace(/\.$/, "")}; ${storeText}`, { hint: error.hint, details: error.details, cause: error });
}

/** Workers are processes of this same executable; the hidden command is between it and itself. */
const verifyWorkerWord = "verify-worker";

async function verify(flags: Readonly<Record<string, FlagValue>>, request: VerifyRequest): Promise<VerifyAnswer> {
  const { store, origins } = readConfig(flags);
  const [{ runVerify }, { ReportText }] = await Promise.all([import("./verify/verify.ts"), import("./verify/report.ts")]);
  const worker = { file: process.execPath, args: [process.argv[1] as string, verifyWorkerWord] };
  const text = new ReportText();
  const onJudged = (guarantee: GuaranteeReport): void => request.onText(text.guarantee(guarantee));
  const report = await runVerify({ ...request, onJudged, worker, storeUrl: origins.store === "default" ? undefined : store });
  return { passed: report.passed, report, text: text.end(report) };
}

/** What a hook must know too: where the store is, and what may be written there and for how long. */
const hookSettings = ["store", "namespace", "config", "journal-age", "hook-timeout", "read-only"];

/** The settings given as flags go into the client's file. */
async function planClientChange(flags: Readonly<Record<string, FlagValue>>, request: ClientChange): Promise<ClientPlan> {
  const [{ planChange }, { config, running, ...server }] = await Promise.all([import("./install/plan-change.ts"), startedServer(flags)]);
  const plan = await planChange({ ...request, ...server, hookArgs: settingArguments(flags, config, hookSettings) }, clientFolders(), running, Date.now());
  return { ...plan, colourAllowed: config.colourAllowed };
}

async function printServer(flags: Readonly<Record<string, FlagValue>>, request: Pick<ClientChange, "http" | "tokenEnv">): Promise<ServerPrintout> {
  const [{ printServer: print }, { running, ...server }] = await Promise.all([import("./install/print-server.ts"), startedServer(flags)]);
  return print({ ...request, ...server }, running);
}

/** The server that a client would start with these flags. */
async function startedServer(flags: Readonly<Record<string, FlagValue>>) {
  const config = readConfig(flags);
  const { toolsOf } = await import("./compose.ts");
  // A wrong tool name would make every start of the server fail without a visible reason.
  const tools = toolsOf(config).map(({ name }) => name);
  if (typeof flags.store === "string" && hasPassword(config.store)) throw secretFlag("store", "holds a password");
  if (flags["otlp-headers"] !== undefined) throw secretFlag("otlp-headers", "may hold a key");
  // It is for the bridge, which the installer starts where it is given.
  const { "token-file": tokenFile, ...serverFlags } = flags;
  const running = { execPath: process.execPath, script: realpathSync(process.argv[1] as string), platform: process.platform };
  return { config, running, tools, tokenFile: tokenFile === undefined ? undefined : config.tokenFile, serverArgs: settingArguments(serverFlags, config) };
}

const secretFlag = (flag: string, holds: string): HoldfastError =>
  new HoldfastError("invalid_input", `--${flag}: ${holds}, which other users could read in the client's file and in the process list; nothing was changed.`, {
    hint: `Put {"${flag === "store" ? "store" : "otlpHeaders"}": "…"} into a file that only you can read and give --config FILE instead.`,
    details: { field: `--${flag}` },
  });

/** A server sees for itself when its client is gone, and a hook is never a failure. */
let outputMatters = true;

/** Whoever reads our output has not got it: that is no success, whatever the command did. A reader that went away (`holdfast ls | head`) is no failure. */
function loseOutput(error: NodeJS.ErrnoException): void {
  if (!outputMatters) return;
  if (error.code === "EPIPE") process.exit(0);
  const full = error.code === "ENOSPC" || error.code === "EDQUOT";
  const failure = describeFailure(new HoldfastError(full ? "storage_full" : "unavailable", `the output could not be written (${error.code ?? error.message})`));
  writeSync(2, failure.line);
  process.exit(failure.exitCode);
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
process.stdout.on("error", loseOutput);
// Whoever closes the terminal loses what is said there; a command that is cleaning up meanwhile must not end for it.
process.stderr.on("error", () => {});
let exitCode: number;
try {
  exitCode = await main(process.argv.slice(2));
} catch (error) {
  const failure = describeFailure(error);
  exitCode = failure.exitCode;
  process.stderr.write(failure.line);
}
clearInterval(alive);
// Exit at once when the last output is out, or lost, which is told a little later: an open pipe on stdin must not keep a finished command alive.
const exit = (): void => void setImmediate(() => process.exit(exitCode));
if (process.stdout.writableLength === 0) exit();
else process.stdout.write("", exit);
