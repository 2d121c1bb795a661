import { spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import { hostname } from "node:os";
import type { EffectGuard } from "../../domain/effects/begin-effect.ts";
import type { EffectPolicy } from "../../domain/effects/effect.ts";
import { effectPolicies } from "../../domain/effects/effect.ts";
import type { EffectReport } from "../../domain/effects/finish-effect.ts";
import type { RanEffect, RunningAttempt } from "../../domain/effects/perform-effect.ts";
import { runEffect } from "../../domain/effects/run-effect.ts";
import { formatDuration } from "../../kernel/duration.ts";
import { errorCodes, HoldfastError, invalidInput } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import { mustBeOneOf } from "../../kernel/nearest.ts";
import { ownWorkspaceId } from "../../tools/own-workspace.ts";
import { redactedJson, requireNoSecret } from "../../tools/secret-switch.ts";
import type { ChildEnd } from "./child-command.ts";
import { endOfChild, readMs, signalProcess } from "./child-command.ts";
import type { CliHost, CliRuntime, Command, Invocation } from "./command.ts";
import { exitCodes } from "./command.ts";
import { OutputTail, replayCommand, toKeptCommand } from "./kept-command.ts";
import { parseLease } from "./read-arguments.ts";
import { safeText } from "./terminal-text.ts";

const liveMsDefault = 30_000;
const liveMsMin = 300;

export const effectCommand: Command = {
  path: ["effect"],
  summary: "Run a command once, and replay its result later",
  details:
    "Records durably that the effect is about to happen, runs the command, and stores its exit code and output. The next time, with the same name and run, the command is not run: holdfast prints the stored output, exits with the stored exit code, and reports the replay on standard error. Of each output stream, only the last 256 KiB are stored. A command that exits with an error counts as done too, unless --failed-exit lists its exit code. The same name with another command is refused.\n\nIf holdfast or the machine dies while the command runs, or a signal ends the command, it is unknown whether it took effect: the command is not run again until you resolve the effect (holdfast effect resolve) or --policy decides. The command's environment contains HOLDFAST_EFFECT, the id of the effect: pass it to the other side as an idempotency key if it takes one.\n\nThe exit code is the command's own, or 128 plus the signal number. Other exit codes: 1 if another process is running it now, 6 if its outcome is unknown, 4 if the name is taken by another command or the lease was lost, 127 if the command was not found, 126 if it could not be started.\n\nholdfast effect list shows all effects, holdfast effect show one of them with its output, and holdfast effect resolve settles one whose outcome is unknown.",
  operands: "<name> -- <command>",
  operandMeanings: [
    { name: "name", meaning: "Your name for the effect, for example invoice-7. list, show and resolve are commands of their own." },
    { name: "command", meaning: "The command to run, and its arguments, after --." },
  ],
  flags: [
    { name: "run", takes: "ID", meaning: "The run that the effect is part of. Names are separate for each run." },
    { name: "policy", takes: "POLICY", choices: effectPolicies, meaning: "What to do if the outcome is unknown: ask (refuse), retry (run it again) or assume-done. Default: ask." },
    { name: "lease", takes: "NAME:TOKEN", meaning: "Run only while this lease is held, for example deploy:17, or workflow/RUN_ID:17 for the claim of a run." },
    { name: "failed-exit", takes: "CODES", meaning: "Exit codes that prove that nothing took effect, for example 75 or 69,75: the command may then be run again." },
    { name: "live", takes: "DURATION", meaning: "How long holdfast may be silent before other callers count the outcome as unknown. Default: 30s." },
  ],
  examples: ["holdfast effect invoice-7 -- ./pay.sh 7", "holdfast effect welcome-mail --run wf-1 --failed-exit 75 -- sendmail -t ann@example.com"],
  takesRest: true,
  run: runEffectCommand,
};

interface Plan {
  readonly name: string;
  readonly command: string;
  readonly commandArgs: readonly string[];
  readonly run?: string;
  readonly policy?: EffectPolicy;
  readonly guard?: EffectGuard;
  readonly failedExits: ReadonlySet<number>;
  readonly liveMs: number;
}

async function runEffectCommand(invocation: Invocation): Promise<number> {
  const { host, flags } = invocation;
  const plan = toPlan(invocation);
  await using runtime = await host.open(flags);
  const { base, config } = runtime;
  if (config.readOnly) throw new HoldfastError("read_only", "effect changes the store, and this command was started read-only.");
  const { secrets } = base.server;
  if (secrets !== undefined) requireNoSecret(plan.name, "<name>");
  const args: Json = [plan.command, ...plan.commandArgs];
  const agent = config.agent ?? `${base.writer}@${hostname()}:${process.pid}`;
  const workspace = await ownWorkspaceId(base);
  // The same name and command mean something else in another project. A run is one wherever its workers are.
  const scope = plan.run === undefined ? `shell/${workspace ?? realpathSync(".")}` : "shell";
  let exitCode: number = exitCodes.ok;
  const ran = await runEffect(
    { ...base, agent },
    {
      identity: { scope, run: plan.run, tool: plan.command, args, name: plan.name },
      guard: plan.guard,
      liveMs: plan.liveMs,
      policy: plan.policy,
      keepMs: config.effectAgeMs,
      workspace,
      shownArgs: secrets === undefined ? args : redactedJson(args),
    },
    async (attempt) => {
      const { report, end } = await performCommand(host, runtime, plan, attempt, agent);
      exitCode = end.exitCode;
      return report;
    },
  );
  return ran.outcome === "performed" ? endPerformed(host, plan, ran, exitCode) : answerInstead(host, runtime, plan, ran);
}

function toPlan({ flags, words, rest }: Invocation): Plan {
  const [name] = words;
  if (name === undefined || words.length > 1) throw invalidInput("<name>", "pass exactly one name before --, or use effect list, show or resolve");
  const [command, ...commandArgs] = rest ?? [];
  if (command === undefined) throw invalidInput("<command>", "is missing; write it after --, for example: holdfast effect invoice-7 -- ./pay.sh 7");
  const policy = effectPolicies.find((each) => each === flags.policy);
  if (flags.policy !== undefined && policy === undefined) throw invalidInput("--policy", mustBeOneOf(String(flags.policy), effectPolicies));
  const liveMs = readMs("live", flags.live, liveMsDefault);
  if (liveMs < liveMsMin) throw invalidInput("--live", `must be at least ${liveMsMin}ms: signs of life are written in the background`);
  return {
    name,
    command,
    commandArgs,
    run: typeof flags.run === "string" ? flags.run : undefined,
    policy,
    guard: typeof flags.lease === "string" ? parseLease("--lease", flags.lease) : undefined,
    failedExits: readExitCodes(flags["failed-exit"]),
    liveMs,
  };
}

function readExitCodes(given: unknown): ReadonlySet<number> {
  if (given === undefined) return new Set();
  const codes = String(given)
    .split(",")
    .map((text) => (/^\d{1,3}$/.test(text.trim()) ? Number(text) : 0));
  if (codes.some((code) => code < 1 || code > 255)) throw invalidInput("--failed-exit", "must be exit codes from 1 to 255, separated by commas");
  return new Set(codes);
}

async function performCommand(
  host: CliHost,
  { base, config }: CliRuntime,
  plan: Plan,
  attempt: RunningAttempt,
  agent: string,
): Promise<{ readonly report: EffectReport; readonly end: ChildEnd }> {
  // The outcome must be recorded even if the reader of the output is gone.
  host.outliveReader();
  const env = host.childEnvironment({
    HOLDFAST_EFFECT: attempt.id,
    HOLDFAST_EFFECT_ATTEMPT: String(attempt.attempt),
    HOLDFAST_STORE: config.store,
    HOLDFAST_NAMESPACE: config.namespace,
    HOLDFAST_AGENT: agent,
  });
  const child = spawn(plan.command, plan.commandArgs, { stdio: ["inherit", "pipe", "pipe"], env });
  const tails = { stdout: new OutputTail(), stderr: new OutputTail() };
  for (const stream of ["stdout", "stderr"] as const)
    child[stream]?.on("data", (bytes: Buffer) => {
      tails[stream].add(bytes);
      host[stream].write(bytes);
    });
  // Without a listener, a signal would end this process and leave the command running. On a terminal, Ctrl-C reaches the command directly.
  const stopListening = host.onSignal((signal) => void (host.stdinIsTerminal && signal === "SIGINT" ? undefined : signalProcess(child, signal, false)));
  const onLost = (): void => {
    host.stderr.write(`holdfast: another caller resolved the effect ${safeText(plan.name)}; stopping the command\n`);
    signalProcess(child, "SIGTERM", false);
  };
  attempt.signal.addEventListener("abort", onLost, { once: true });
  try {
    const end = await endOfChild(child, "close");
    if (end.problem !== undefined) host.stderr.write(`holdfast: <command>: ${safeText(JSON.stringify(plan.command))} ${end.problem}\n`);
    const kept = toKeptCommand(end.exitCode, tails.stdout, tails.stderr);
    return { report: reportOf(end, plan.failedExits, base.server.secrets === undefined ? kept : redactedJson(kept)), end };
  } finally {
    attempt.signal.removeEventListener("abort", onLost);
    stopListening();
  }
}

function reportOf({ exitCode, signal, problem }: ChildEnd, failedExits: ReadonlySet<number>, kept: Json): EffectReport {
  // A signal does not show how much the command had done before it was stopped.
  if (signal !== undefined) return { state: "unknown", reason: `the command was ended by ${signal}` };
  return problem !== undefined || failedExits.has(exitCode) ? { state: "failed", error: kept } : { state: "done", answer: kept };
}

type Performed = Extract<RanEffect, { readonly outcome: "performed" }>;

const say = (host: CliHost, text: string): void => void host.stderr.write(`holdfast: ${safeText(text)}\n`);
const resolution = (id: string): string => `holdfast effect resolve ${id} --as done|failed`;

function endPerformed(host: CliHost, { name }: Plan, { id, report }: Performed, exitCode: number): number {
  if (report.state === "unknown") say(host, `the outcome of ${name} (${id}) is unknown: ${report.reason}. When you know what happened, run: ${resolution(id)}`);
  return exitCode;
}

/** Answers from the record, because the command was not run. */
function answerInstead(host: CliHost, { base }: CliRuntime, { name }: Plan, ran: Exclude<RanEffect, Performed>): number {
  const ago = (ms: number): string => formatDuration(Math.max(0, base.clock.nowMs() - ms));
  const effect = `${name} (${ran.id})`;
  switch (ran.outcome) {
    case "done": {
      const how = ran.resolved === undefined ? "was done" : ran.resolved === "policy" ? "was assumed to be done" : "was resolved as done";
      say(host, `replay: ${effect} ${how} ${ago(ran.doneAtMs)} ago; the command was not run`);
      return replayCommand(host, ran.answer);
    }
    case "in_flight":
      say(host, `${effect} has been running for ${ago(ran.sinceMs)}${ran.agent === undefined ? "" : `, started by ${ran.agent}`}; the command was not run`);
      return exitCodes.negative;
    case "unknown": {
      const why = ran.reason === undefined ? "" : ` (${ran.reason})`;
      say(host, `the outcome of ${effect} is unknown, begun ${ago(ran.sinceMs)} ago${why}; the command was not run. Find out what happened, then: ${resolution(ran.id)}`);
      return errorCodes.outcome_unknown.exit;
    }
  }
}
