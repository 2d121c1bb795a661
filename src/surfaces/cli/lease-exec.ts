import { spawn } from "node:child_process";
import { hostname } from "node:os";
import type { AcquireResult } from "../../domain/leases/leases.ts";
import { acquireLease, releaseLease, renewLease } from "../../domain/leases/leases.ts";
import { formatDuration } from "../../kernel/duration.ts";
import { errorCodes, HoldfastError, invalidInput } from "../../kernel/errors.ts";
import { keepHold } from "../../kernel/keep-alive.ts";
import type { Scope } from "../../store/transact.ts";
import { ownWorkspaceId } from "../../tools/own-workspace.ts";
import { endOfChild, readMs, signalProcess } from "./child-command.ts";
import type { CliHost, CliRuntime, Command, Invocation } from "./command.ts";
import { exitCodes } from "./command.ts";
import { safeText } from "./terminal-text.ts";

const releaseMsMax = 2_000;
const defaults = { ttlMs: 60_000, waitMs: 0, graceMs: 5_000 } as const;

export const leaseExecCommand: Command = {
  path: ["lease", "exec"],
  summary: "Run a command while holding a lease, and stop it when the lease is lost",
  details:
    "Acquires the lease, runs the command, renews the lease in the background and releases it when the command ends. The command's environment contains HOLDFAST_LEASE, HOLDFAST_LEASE_TOKEN, HOLDFAST_STORE, HOLDFAST_NAMESPACE and HOLDFAST_AGENT, so any holdfast command inside it acts as the holder.\n\nIf the lease is lost or can no longer be renewed, the command receives SIGTERM and, after the grace period, SIGKILL. Unless the TTL is very short, the command has ended before the lease expires. If holdfast itself is killed with SIGKILL, the command keeps running; then only writes that carry the token are protected.\n\nThe exit code is the command's own, or 128 plus the signal number if a signal ended it. Other exit codes: 1 if another agent holds the lease, 4 if the lease was lost, 127 if the command was not found, 126 if it could not be started.",
  operands: "<resource_id> -- <command> [arguments…]",
  operandMeanings: [
    { name: "resource_id", meaning: "The name that the lease is for." },
    { name: "command", meaning: "The command to run, after --." },
  ],
  flags: [
    { name: "ttl", takes: "DURATION", meaning: "How long the lease lasts without a renewal; it is renewed after a third of that. Default: 60s." },
    { name: "wait", takes: "DURATION", meaning: "Wait up to this long for the lease. Default: do not wait." },
    { name: "grace", takes: "DURATION", meaning: "Time between SIGTERM and SIGKILL. Default: 5s." },
  ],
  examples: ["holdfast lease exec deploy -- ./deploy.sh", "holdfast lease exec deploy --ttl 30s --wait 10m -- make release"],
  takesRest: true,
  run: runLeaseExec,
};

async function runLeaseExec({ host, flags, words, rest }: Invocation): Promise<number> {
  const [resource] = words;
  if (resource === undefined || words.length > 1) throw invalidInput("<resource_id>", "pass exactly one name before --");
  const [command, ...commandArgs] = rest ?? [];
  if (command === undefined) throw invalidInput("<command>", "is missing; write it after --, for example: holdfast lease exec deploy -- ./deploy.sh");
  const ttlMs = readMs("ttl", flags.ttl, defaults.ttlMs);
  const waitMs = readMs("wait", flags.wait, defaults.waitMs);
  const graceMs = readMs("grace", flags.grace, defaults.graceMs);
  if (ttlMs < 300) throw invalidInput("--ttl", "must be at least 300ms: the lease is renewed in the background");
  await using runtime = await host.open(flags);
  if (runtime.config.readOnly) throw new HoldfastError("read_only", "lease exec changes the store, and this command was started read-only.");
  // One name per run: two runs in one terminal must not be taken for the same holder.
  const holder = runtime.config.agent ?? `${runtime.base.writer}@${hostname()}:${process.pid}`;
  const interrupted = new AbortController();
  // One listener from here to the end: without one, a signal would end this process and leave the command running.
  const onSignal = { act: (_signal: NodeJS.Signals): void => interrupted.abort() };
  const stopListening = host.onSignal((signal) => onSignal.act(signal));
  try {
    return await runUnderLease(host, runtime, { resource, holder, ttlMs, waitMs, graceMs, command, commandArgs, interrupted: interrupted.signal, onSignal });
  } finally {
    stopListening();
  }
}

interface Plan {
  readonly resource: string;
  readonly holder: string;
  readonly ttlMs: number;
  readonly waitMs: number;
  readonly graceMs: number;
  readonly command: string;
  readonly commandArgs: readonly string[];
  readonly interrupted: AbortSignal;
  /** The effect of a signal: at first it ends the wait, later it is passed on to the command. */
  readonly onSignal: { act: (signal: NodeJS.Signals) => void };
}

async function runUnderLease(host: CliHost, runtime: CliRuntime, plan: Plan): Promise<number> {
  const { resource, holder, ttlMs, waitMs, graceMs, interrupted } = plan;
  const scope: Scope = { ...runtime.base, agent: holder, signal: interrupted };
  const workspace = await ownWorkspaceId(runtime.base);
  const askedAtMs = scope.clock.nowMs();
  const acquired = await acquireLease(scope, { resource, holder, ttlMs, workspace, waitMs });
  if (interrupted.aborted) {
    if (acquired.ok) await releaseLease(scope, { resource, holder, token: acquired.token });
    return exitCodes.interrupted;
  }
  if (!acquired.ok) return refuse(host, acquired, scope);
  // After a wait, the start of the lease is unknown; the first renewal, sent at once, reveals it.
  const waited = waitMs > 0;
  const lease: Held = {
    scope: { ...scope, signal: undefined },
    resource,
    holder,
    token: acquired.token,
    ttlMs,
    graceMs,
    grantedAtMs: waited ? scope.clock.nowMs() : askedAtMs,
    renewAtOnce: waited,
  };
  try {
    return await runHolding(host, runtime, lease, plan);
  } finally {
    // A lease that this holder already had belongs to an outer `lease exec`, which releases it.
    if (!acquired.renewed) await giveUp(lease);
  }
}

interface Held {
  readonly scope: Scope;
  readonly resource: string;
  readonly holder: string;
  readonly token: number;
  readonly ttlMs: number;
  readonly graceMs: number;
  readonly grantedAtMs: number;
  readonly renewAtOnce: boolean;
}

async function runHolding(host: CliHost, runtime: CliRuntime, lease: Held, { command, commandArgs, onSignal }: Plan): Promise<number> {
  const { config } = runtime;
  // Without a terminal the command gets its own process group, so that its children are stopped with it.
  // On a terminal it must stay in ours: another group could not read from the terminal, and Ctrl-C already reaches it.
  const ownGroup = !host.stdinIsTerminal && process.platform !== "win32";
  const env = host.childEnvironment({
    HOLDFAST_LEASE: lease.resource,
    HOLDFAST_LEASE_TOKEN: String(lease.token),
    HOLDFAST_STORE: config.store,
    HOLDFAST_NAMESPACE: config.namespace,
    HOLDFAST_AGENT: lease.holder,
  });
  const child = spawn(command, commandArgs, { stdio: "inherit", env, detached: ownGroup });
  const signalChild = (signal: NodeJS.Signals | 0): boolean => signalProcess(child, signal, ownGroup);
  const ended = endOfChild(child, "exit").then(({ exitCode, problem }) => {
    if (problem !== undefined) host.stderr.write(`holdfast: <command>: ${safeText(JSON.stringify(command))} ${problem}\n`);
    return exitCode;
  });
  onSignal.act = (signal) => {
    if (ownGroup || signal !== "SIGINT") signalChild(signal);
  };
  const finished = new AbortController();
  const keeping = keepLease(lease, finished.signal);
  try {
    const first = await Promise.race([ended.then((code) => ({ code })), keeping.then((loss) => ({ loss }))]);
    if ("code" in first) return first.code;
    const { loss } = first;
    if (loss === undefined) return await ended;
    host.stderr.write(`holdfast: ${safeText(loss.message)}; stopping the command\n`);
    signalChild("SIGTERM");
    const { clock } = lease.scope;
    // The command may end at once and leave children running: the whole group must be gone.
    for (const untilMs = clock.nowMs() + loss.graceMs; clock.nowMs() < untilMs && signalChild(0); ) await clock.sleep(Math.min(50, loss.graceMs));
    signalChild("SIGKILL");
    await ended;
    return errorCodes.lease_lost.exit;
  } finally {
    finished.abort();
    await keeping;
  }
}

/** A store that does not respond must not delay the end: the lease lapses by itself. */
async function giveUp({ scope, resource, holder, token }: Held): Promise<void> {
  const answered = new AbortController();
  const released = releaseLease(scope, { resource, holder, token }).catch(() => undefined);
  await Promise.race([released, scope.clock.sleep(releaseMsMax, answered.signal)]);
  answered.abort();
}

interface Loss {
  readonly message: string;
  /** Time left for the command to end by itself. */
  readonly graceMs: number;
}

/**
 * Renews until the signal aborts (undefined) or the lease must be given up. The deadline counts from before each renewal was sent,
 * so it is never later than the store's. If the store does not respond, the command is stopped early enough to be gone at the deadline.
 */
async function keepLease({ scope, resource, holder, token, ttlMs, graceMs, grantedAtMs, renewAtOnce }: Held, signal: AbortSignal): Promise<Loss | undefined> {
  const reserveMs = Math.min(graceMs, ttlMs / 3);
  const renew = () => renewLease(scope, { resource, holder, ttlMs, token });
  const loss = await keepHold({ clock: scope.clock, ttlMs, reserveMs, grantedAtMs, renewAtOnce, renew }, signal);
  if (loss === undefined) return undefined;
  if (loss.is === "silent") return { message: `the lease on ${resource} could not be renewed for ${formatDuration(loss.forMs)}`, graceMs: reserveMs };
  return { message: `the lease on ${resource} was lost${loss.heldBy === undefined ? "" : ` to ${loss.heldBy}`}`, graceMs };
}

function refuse(host: CliHost, refusal: Extract<AcquireResult, { ok: false }>, { clock }: Scope): number {
  const until = refusal.expiresAtMs === undefined ? "" : ` for another ${formatDuration(Math.max(0, refusal.expiresAtMs - clock.nowMs()))} unless it is renewed`;
  const who = refusal.heldBy === undefined ? "others are waiting in line for it" : `${refusal.heldBy} holds it${until}`;
  host.stderr.write(`holdfast: the lease on ${safeText(refusal.resource)} was not acquired: ${safeText(who)}\n`);
  const self = host.defaultAgent();
  if (refusal.heldBy === self)
    host.stderr.write(`holdfast: that is this terminal; pass --agent ${safeText(self)} to run the command under that lease, or release it with holdfast lease release\n`);
  return exitCodes.negative;
}
