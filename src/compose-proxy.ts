import { readFileSync } from "node:fs";
import { openStore } from "./compose.ts";
import type { Config } from "./config.ts";
import { childEnvironment } from "./config.ts";
import { systemClock } from "./kernel/clock.ts";
import { durationForms, parseDurationMs } from "./kernel/duration.ts";
import { HoldfastError, invalidInput } from "./kernel/errors.ts";
import type { Json } from "./kernel/json.ts";
import type { Log } from "./kernel/log.ts";
import { quotedName } from "./kernel/nearest.ts";
import { requireKey, requireTtl } from "./store/prepare-commit.ts";
import type { FlagValue } from "./surfaces/cli/argv.ts";
import { BridgeCredential } from "./surfaces/connect/credential.ts";
import { requireAddress, warnInTheClear } from "./surfaces/connect/target.ts";
import { CallRecords } from "./surfaces/proxy/call-records.ts";
import { commandUpstream } from "./surfaces/proxy/command-upstream.ts";
import type { ProxyOptions } from "./surfaces/proxy/proxy-session.ts";
import { serveProxy } from "./surfaces/proxy/proxy-session.ts";
import type { CallPlace } from "./surfaces/proxy/read-call.ts";
import { readToolRules } from "./surfaces/proxy/tool-rules.ts";
import type { OpenUpstream } from "./surfaces/proxy/upstream.ts";
import { nameOfAddress, nameOfCommand } from "./surfaces/proxy/upstream-name.ts";
import { urlUpstream } from "./surfaces/proxy/url-upstream.ts";
import { withoutSecrets } from "./tools/secret-switch.ts";

type Flags = Readonly<Record<string, FlagValue>>;

const defaults = { repeatMs: 24 * 3_600_000, liveMs: 30_000, waitMs: 30_000, recordMs: 15_000 } as const;
const rulesBytesMax = 1_048_576;

/** Everything is read and checked before the store is opened or the upstream started. Resolves when it is over; false: the upstream ended first. */
export async function runProxy(config: Config, flags: Flags, rest: readonly string[], { log, ...streams }: Pick<ProxyOptions, "stdin" | "stdout" | "log">): Promise<boolean> {
  if (config.readOnly) throw new HoldfastError("read_only", "proxy records calls, and this command was started read-only.");
  const { name, open } = upstreamOf(config, flags, rest, log);
  const rules = readToolRules(rulesFile(flags.rules), { effect: namesIn(flags["effect-tool"]), readOnly: namesIn(flags["read-only-tool"]) });
  const place = placeOf(flags);
  const times = {
    repeatMs: durationOf("repeat-window", flags, defaults.repeatMs),
    liveMs: durationOf("live", flags, defaults.liveMs),
    waitMs: durationOf("wait", flags, defaults.waitMs, 0),
    recordMs: defaults.recordMs,
  };
  await using opened = await openStore(config, { stays: true, log });
  const { store, clock, writer } = opened.base;
  const records = new CallRecords({
    scope: { store, clock, writer, agent: config.agent },
    log,
    upstreamName: name,
    ...times,
    // Redacted also where other callers are refused: nothing secret is stored, and the call itself is the caller's to make.
    withoutSecrets: config.secrets === "allow" ? undefined : (value: Json) => withoutSecrets({ value }, "redact").value,
  });
  // Awaited here: the store is closed when this returns.
  return await serveProxy({ open, records, rules, place, clock, log, ...streams });
}

function upstreamOf(config: Config, flags: Flags, [command, ...args]: readonly string[], log: Log): { readonly name: string; readonly open: OpenUpstream } {
  const named = typeof flags.name === "string" ? flags.name : undefined;
  if (named !== undefined) requireKey(named, "--name");
  if (typeof flags.url === "string") {
    if (command !== undefined) throw invalidInput("--url", `cannot be combined with a command (got ${quotedName(command)})`);
    const url = requireAddress(flags.url, "--url", "an MCP server, for example https://mcp.example.com/mcp");
    const credential = new BridgeCredential(config);
    warnInTheClear(url, credential, log);
    return { name: named ?? nameOfAddress(url, config), open: urlUpstream({ url, credential, clock: systemClock, log }) };
  }
  if (command === undefined) throw invalidInput("<command>", "is missing; write it after --, or pass --url URL, for example: holdfast proxy -- npx -y mail-mcp-server");
  const env = childEnvironment({});
  return { name: named ?? nameOfCommand(command, args, process.cwd(), env), open: commandUpstream({ command, args, env, clock: systemClock }) };
}

function rulesFile(path: FlagValue | undefined): { readonly json: unknown; readonly origin: string } | undefined {
  if (path === undefined) return undefined;
  const origin = "--rules";
  try {
    const text = readFileSync(String(path), "utf8");
    if (text.length > rulesBytesMax) throw invalidInput(origin, `must name a file of at most ${rulesBytesMax} bytes`);
    return { json: JSON.parse(text), origin };
  } catch (cause) {
    if (cause instanceof HoldfastError) throw cause;
    throw new HoldfastError(
      "invalid_input",
      `${origin}: must name a readable JSON file; ${quotedName(String(path))} ${cause instanceof SyntaxError ? "is not JSON" : "cannot be read"}`,
      {
        cause,
        details: { field: origin },
      },
    );
  }
}

const namesIn = (value: FlagValue | undefined): readonly string[] => (Array.isArray(value) ? value : []);

function placeOf({ run, "run-token": token, step }: Flags): CallPlace {
  if (run === undefined) {
    if (token !== undefined || step !== undefined) throw invalidInput(token === undefined ? "--step" : "--run-token", "requires --run ID");
    return {};
  }
  if (token === undefined) throw invalidInput("--run-token", "is required with --run: the token of the run's claim");
  if (!/^[1-9]\d{0,15}$/.test(String(token))) throw invalidInput("--run-token", "must be the token of the run's claim, a whole number");
  return { run: String(run), token: Number(token), ...(step === undefined ? {} : { step: /^\d{1,15}$/.test(String(step)) ? Number(step) : String(step) }) };
}

function durationOf(name: string, flags: Flags, otherwise: number, min = 1_000): number {
  const given = flags[name];
  if (given === undefined) return otherwise;
  const ms = parseDurationMs(String(given));
  if (ms === undefined || ms < min) throw invalidInput(`--${name}`, `must be ${durationForms}${min > 0 ? `, at least ${min}ms` : ""} (got ${quotedName(String(given))})`);
  if (ms > 0) requireTtl(ms, `--${name}`);
  return ms;
}
