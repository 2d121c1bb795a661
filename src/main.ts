import { fstatSync, realpathSync, writeSync } from "node:fs";
import { isatty } from "node:tty";
import { fileURLToPath } from "node:url";
import type { Runtime } from "./compose.ts";
import type { Config } from "./config.ts";
import { childEnvironment, clientFolders, defaultAgent, gitEnvironment, readConfig, settingArguments, terminalSession } from "./config.ts";
import { errorCodes, HoldfastError, isHoldfastError } from "./kernel/errors.ts";
import type { Log } from "./kernel/log.ts";
import { heldLog, openLog, silentLog } from "./kernel/log.ts";
import { mustBeOneOf } from "./kernel/nearest.ts";
import { hasPassword, shownUrl } from "./kernel/store-url.ts";
import { version } from "./kernel/version.ts";
import { settingFlags } from "./settings.ts";
import type { FlagValue } from "./surfaces/cli/argv.ts";
import { parseArgv } from "./surfaces/cli/argv.ts";
import type { ClientChange, ClientPlan, ClientWrap, OpenRequest, ServeAnswer, ServerPrintout, VerifyAnswer, VerifyRequest } from "./surfaces/cli/command.ts";
import { describeFailure } from "./surfaces/cli/failure.ts";
import { proxyFlags } from "./surfaces/cli/proxy-command.ts";
import type { HookEvent } from "./surfaces/hooks/hook-events.ts";
import { hookEvents, isHookEvent } from "./surfaces/hooks/hook-events.ts";
import type { GuaranteeReport } from "./verify/report.ts";

const ownFlags = [...settingFlags, { name: "json" }, { name: "help" }, { name: "version" }];

/** Runs the surface that the arguments select and returns the exit code. Each surface is loaded only when needed, so that every one starts fast. */
async function main(args: readonly string[]): Promise<number> {
  const { flags, words } = parseArgv(args, ownFlags, { untilWord: true });
  if (flags.version === true || (words[0] === "version" && words.length === 1)) return print(`${version}\n`);
  if (words[0] === verifyWorkerWord) {
    await (await import("./verify/worker.ts")).runVerifyWorker(process.stdin);
    return 0;
  }
  if (words[0] === "hook" && flags.help !== true && !asksHelp(words)) return answerHook(flags, words.slice(1));
  if (words[0] === "connect" && flags.help !== true && !asksHelp(words)) return connect(flags, words.slice(1));
  if (words[0] === "proxy" && flags.help !== true && !asksHelp(words)) return proxy(flags, words.slice(1));
  const servesMcp = flags.help !== true && (words[0] === "mcp" || (words.length === 0 && stdinIsPipe()));
  if (!servesMcp) return runCommandLine(args);
  const tail = parseArgv(words.slice(1), ownFlags);
  if (tail.flags.help === true) return runCommandLine(args);
  if (tail.words.length > 0) throw new HoldfastError("invalid_input", `mcp: takes no arguments (got ${JSON.stringify(tail.words[0])})`);
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
  // On a signal, the server behaves as if the client had closed its end: calls in flight may finish.
  onSignal(() => void process.stdin.destroy());
  const { base, tools } = runtime;
  await serveMcpStdio({ context: base, tools, log, stdin: process.stdin, stdout: process.stdout });
  return 0;
}

/** A bug in one call must not stop the server for other callers. */
function surviveDefects(log: Log): void {
  process.on("uncaughtException", (error) => log("error", "uncaught_exception", { error: String(error), stack: error instanceof Error ? error.stack : undefined }));
  process.on("unhandledRejection", (reason) => log("error", "unhandled_rejection", { error: String(reason), stack: reason instanceof Error ? reason.stack : undefined }));
}

/** Forwards MCP to a server, without loading the store or the tools. */
async function connect(flags: Readonly<Record<string, FlagValue>>, args: readonly string[]): Promise<number> {
  outputMatters = false;
  const { flags: more, words } = parseArgv(args, ownFlags);
  const [address, another] = words;
  if (address === undefined || another !== undefined) throw new HoldfastError("invalid_input", "connect: takes one address, for example holdfast connect http://127.0.0.1:8000");
  const config = readConfig({ ...flags, ...more });
  const log = openLog(config.logLevel);
  surviveDefects(log);
  const [{ bridge }, { requireTarget, warnInTheClear }, { BridgeCredential }, { systemClock }] = await Promise.all([
    import("./surfaces/connect/bridge.ts"),
    import("./surfaces/connect/target.ts"),
    import("./surfaces/connect/credential.ts"),
    import("./kernel/clock.ts"),
  ]);
  const url = requireTarget(address);
  const credential = new BridgeCredential(config);
  warnInTheClear(url, credential, log);
  onSignal(() => void process.stdin.destroy());
  const wasAnswered = await bridge({ url, credential, log, clock: systemClock, stdin: process.stdin, stdout: process.stdout });
  return wasAnswered ? 0 : errorCodes.unavailable.exit;
}

/** Stands between a client and another MCP server; of the product only the store is loaded. */
async function proxy(flags: Readonly<Record<string, FlagValue>>, args: readonly string[]): Promise<number> {
  outputMatters = false;
  const { flags: more, words, rest = [] } = parseArgv(args, [...ownFlags, ...proxyFlags]);
  if (words[0] !== undefined) throw new HoldfastError("invalid_input", `proxy: write the command after --, for example holdfast proxy -- ${words[0]}`);
  const config = readConfig({ ...flags, ...more });
  const log = openLog(config.logLevel);
  surviveDefects(log);
  const { runProxy } = await import("./compose-proxy.ts");
  onSignal(() => void process.stdin.destroy());
  const { stdin, stdout } = process;
  const wasClientFirst = await runProxy(config, more, rest, { stdin, stdout, log }).catch((error) => {
    throw namingStore(error, config);
  });
  return wasClientFirst ? 0 : errorCodes.unavailable.exit;
}

/** The dashboard's files are next to the executable. */
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

/** For a mistyped event, whose author sees standard error. Exit code 2, used for wrong arguments, would make clients stop the agent. */
const unknownHookExit = 1;

/** An agent waits for its hook and cannot fix its errors. So a known event that fails prints nothing and exits with 0. */
async function answerHook(flags: Readonly<Record<string, FlagValue>>, args: readonly string[]): Promise<number> {
  outputMatters = false;
  const event = eventOf(args);
  if (event !== undefined && !isHookEvent(event)) {
    process.stderr.write(`holdfast: hook: ${mustBeOneOf(event, hookEvents)}\n`);
    return unknownHookExit;
  }
  const config = event === undefined ? undefined : hookConfig(flags, args);
  if (event === undefined || config === undefined) return 0;
  // Counted from the start of the process. A busy store or a hanging disk must not block the agent.
  const late = new Promise<string>((resolve) => setTimeout(resolve, config.hookTimeoutMs - performance.now(), "").unref());
  const answer = hookAnswer(event, config).catch(() => "");
  return print(await Promise.race([answer, late]));
}

/** Undefined: the flags are invalid, which must not fail the hook. */
function eventOf(args: readonly string[]): string | undefined {
  try {
    return parseArgv(args, ownFlags).words[0] ?? "";
  } catch {
    return undefined;
  }
}

/** Undefined: the settings are invalid, which must not fail the hook either. */
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
    // Only pre-compact creates a missing store. The other events only read, or end a session in which nothing was saved, and must not leave an empty store behind.
    await using opened = await openStore(config, { stays: false, log: silentLog, creates: event === "pre-compact" });
    const { surroundings } = opened.base.server;
    const { journalAgeMs: ttlMs, hookTimeoutMs: timeoutMs } = config;
    return surroundings === undefined ? "" : await runHook(event, input, { scope: opened.base, surroundings, gitEnvironment: gitEnvironment(), ttlMs, timeoutMs });
  } catch (error) {
    // Visible with --log-level debug.
    openLog(config.logLevel)("debug", "hook_failed", { problem: error instanceof Error ? error.stack : String(error) });
    return "";
  }
}

/** What follows -- is another program's. */
const asksHelp = (words: readonly string[]): boolean => {
  const own = words.includes("--") ? words.slice(0, words.indexOf("--")) : words;
  return own.includes("--help") || own.includes("-h");
};

async function runCommandLine(args: readonly string[]): Promise<number> {
  const { runCli } = await import("./surfaces/cli/run-cli.ts");
  return runCli(args, {
    version,
    flags: settingFlags,
    // Opened on demand: opening it earlier would take input away from a child process that inherits it.
    stdin: () => process.stdin,
    stdinIsTerminal: isatty(0),
    stdout: process.stdout,
    stderr: process.stderr,
    open: openForCommand,
    openScratch: async () => (await import("./compose.ts")).openScratch(),
    verify,
    planClientChange,
    planClientWrap,
    printServer,
    serve,
    defaultAgent,
    terminalSession,
    childEnvironment,
    outliveReader: () => {
      outputMatters = false;
    },
    onSignal,
  });
}

async function openForCommand(flags: Readonly<Record<string, FlagValue>>, { stays = false, onlyLooks = false }: OpenRequest = {}): Promise<Runtime> {
  const config = readConfig(flags);
  const { openRuntime } = await import("./compose.ts");
  // The error says why a store could not be opened; a line of the log before it would only repeat it.
  const opening = heldLog(openLog(config.logLevel));
  if (config.origins.logLevel !== "default") opening.release();
  const runtime = await openRuntime(config, { stays, creates: !onlyLooks && !config.readOnly, log: opening.log }).catch((error) => {
    throw namingStore(error, config);
  });
  opening.release();
  return runtime;
}

/** Adds to the error the store, the origin of its URL and the system's error code. The person who started Holdfast may see these; callers of tools never do. */
function namingStore(error: unknown, { store, origins }: Config): unknown {
  if (!isHoldfastError(error) || error.code === "invalid_input") return error;
  const { code } = (error.cause ?? {}) as { readonly code?: unknown };
  const reason = typeof code === "string" && !error.message.includes(code) ? `, ${code}` : "";
  const storeText = `store: ${shownUrl(store)} (from ${origins.store === "default" ? "the default" : origins.store}${reason})`;
  return new HoldfastError(error.code, `${error.message.replace(/\.$/, "")}; ${storeText}`, { hint: error.hint, details: error.details, cause: error });
}

/** Workers are processes of this same executable, started with a hidden command. */
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

/** Settings that hooks need too: where the store is, what may be written to it and how long it is kept. */
const hookSettings = ["store", "namespace", "config", "journal-age", "hook-timeout", "read-only"];

/** Settings given as flags are written to the client's file. */
async function planClientChange(flags: Readonly<Record<string, FlagValue>>, request: ClientChange): Promise<ClientPlan> {
  const [{ planChange }, { config, running, ...server }] = await Promise.all([import("./install/plan-change.ts"), startedServer(flags)]);
  const plan = await planChange({ ...request, ...server, hookArgs: settingArguments(flags, config, hookSettings) }, clientFolders(), running, Date.now());
  return { ...plan, colourAllowed: config.colourAllowed };
}

async function planClientWrap(flags: Readonly<Record<string, FlagValue>>, request: ClientWrap): Promise<ClientPlan> {
  const [{ planWrap }, { config, running, serverArgs, tokenFile }] = await Promise.all([import("./install/plan-wrap.ts"), startedServer(flags)]);
  return { ...(await planWrap({ ...request, serverArgs, tokenFile }, clientFolders(), running)), colourAllowed: config.colourAllowed };
}

async function printServer(flags: Readonly<Record<string, FlagValue>>, request: Pick<ClientChange, "http" | "tokenEnv">): Promise<ServerPrintout> {
  const [{ printServer: print }, { running, ...server }] = await Promise.all([import("./install/print-server.ts"), startedServer(flags)]);
  return print({ ...request, ...server }, running);
}

/** The server that a client would start with these flags. */
async function startedServer(flags: Readonly<Record<string, FlagValue>>) {
  const config = readConfig(flags);
  const { toolsOf } = await import("./compose.ts");
  // With a wrong tool name, every start of the server would fail without a visible reason.
  const tools = toolsOf(config).map(({ name }) => name);
  if (typeof flags.store === "string" && hasPassword(config.store)) throw secretFlag("store", "contains a password");
  if (flags["otlp-headers"] !== undefined) throw secretFlag("otlp-headers", "may contain a key");
  // The token file is for the bridge, which the installer configures separately.
  const { "token-file": tokenFile, ...serverFlags } = flags;
  const running = { execPath: process.execPath, script: realpathSync(process.argv[1] as string), platform: process.platform };
  return { config, running, tools, tokenFile: tokenFile === undefined ? undefined : config.tokenFile, serverArgs: settingArguments(serverFlags, config) };
}

const secretFlag = (flag: string, holds: string): HoldfastError =>
  new HoldfastError("invalid_input", `--${flag}: ${holds}, which other users could read in the client's file and in the process list; nothing was changed.`, {
    hint: `Put {"${flag === "store" ? "store" : "otlpHeaders"}": "…"} into a file that only you can read, and pass --config FILE instead.`,
    details: { field: `--${flag}` },
  });

/** False for servers, which notice when their client disconnects, and for hooks, which must never fail. */
let outputMatters = true;

/** A command whose output could not be written has failed, whatever else it did. A reader that closed the pipe (`holdfast ls | head`) is not an error. */
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

/** A pipe, socket or file carries the protocol; a terminal, /dev/null or a closed stdin does not. */
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

// Watching a quiet store has nothing else that would keep the process alive.
const alive = setInterval(() => {}, 2 ** 30);
process.stdout.on("error", loseOutput);
// Closing the terminal loses messages, but must not end a command that is still cleaning up.
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
// Exit once the last output is written or lost (an error event for it arrives a little later). An open pipe on stdin must not keep a finished command alive.
const exit = (): void => void setImmediate(() => process.exit(exitCode));
if (process.stdout.writableLength === 0) exit();
else process.stdout.write("", exit);
