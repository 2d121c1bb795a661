import { invalidInput } from "../../kernel/errors.ts";
import type { CliHost, Command, Invocation } from "./command.ts";
import { exitCodes } from "./command.ts";

export const verifyCommand: Command = {
  path: ["verify"],
  summary: "Put the guarantees to the test on this machine, with processes that are raced, stopped and killed",
  details:
    "Works in namespaces of its own that begin with verify-, and removes them afterwards. Without --store or a configured store it uses a new SQLite file in the temporary folder. " +
    "Takes about a minute, with --quick a quarter of that. Exit code 0 when every guarantee held, 1 when one was broken, 130 when it was interrupted (Ctrl-C): it ends its workers and cleans up then too.",
  operands: "",
  flags: [
    { name: "quick", meaning: "About a fifth of the work." },
    { name: "seed", takes: "NUMBER", meaning: "Choose the same times to kill and stop as an earlier run did." },
  ],
  examples: ["holdfast verify", "holdfast verify --quick --json", "holdfast verify --store sqlite:./state.db"],
  run: runVerifyCommand,
};

async function runVerifyCommand({ host, flags, json }: Invocation): Promise<number> {
  const stop = new AbortController();
  const stopListening = host.onSignal(() => stop.abort());
  try {
    const request = { quick: flags.quick === true, seed: readSeed(flags.seed), signal: stop.signal, onProgress: progressLine(host, json) };
    const { passed, report, text } = await host.verify(flags, request);
    clearProgress(host);
    host.stdout.write(json ? `${JSON.stringify(report)}\n` : text);
    return passed ? exitCodes.ok : exitCodes.negative;
  } catch (error) {
    clearProgress(host);
    throw error;
  } finally {
    stopListening();
  }
}

function clearProgress({ stderr }: CliHost): void {
  if (stderr.isTTY) stderr.write("\r\u001b[K");
}

function readSeed(given: unknown): number | undefined {
  if (given === undefined) return undefined;
  const seed = Number(given);
  if (!Number.isInteger(seed) || seed < 0 || seed > 0xffff_ffff) throw invalidInput("--seed", "must be a whole number from 0 to 4294967295");
  return seed;
}

/** On a terminal one line that is written over and over; else, for a log, one line for each campaign. Never on standard output. */
function progressLine({ stderr }: CliHost, json: boolean): (campaign: string, done: number) => void {
  let shown = "";
  return (campaign, done) => {
    const line = stderr.isTTY ? `${campaign} ${Math.floor(done * 100)} %` : campaign;
    if (line === shown || (json && !stderr.isTTY)) return;
    shown = line;
    stderr.write(stderr.isTTY ? `\r\u001b[K${line}` : `${line} …\n`);
  };
}
