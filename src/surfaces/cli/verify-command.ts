import { invalidInput } from "../../kernel/errors.ts";
import type { CliHost, Command, Invocation, Output, VerifyRequest } from "./command.ts";
import { exitCodes } from "./command.ts";
import { wrap } from "./terminal-text.ts";

export const verifyCommand: Command = {
  path: ["verify"],
  summary: "Test the guarantees on this machine, with processes that race, stop and are killed",
  details:
    "Starts worker processes that race each other, stops and kills some of them, and checks every guarantee. It works in namespaces of its own, whose names begin with verify-, and removes them afterwards. Without a configured store it uses a new SQLite file in the temporary folder. It takes about a minute, or a quarter of that with --quick.\n\nExits with 0 if every guarantee held, with 1 if one was broken, and with 130 if it was interrupted with Ctrl-C. It cleans up in each case.",
  operands: "",
  flags: [
    { name: "quick", meaning: "Do about a fifth of the work." },
    { name: "seed", takes: "NUMBER", meaning: "Repeat the random choices of an earlier run: when it stopped and killed processes." },
  ],
  examples: ["holdfast verify", "holdfast verify --quick --json", "holdfast verify --store sqlite:./state.db"],
  run: runVerifyCommand,
};

async function runVerifyCommand({ host, flags, json }: Invocation): Promise<number> {
  const stop = new AbortController();
  const stopListening = host.onSignal(() => stop.abort());
  try {
    const onText = (text: string): void => {
      if (json) return;
      clearProgress(host);
      host.stdout.write(wrapUnder(text, host.stdout));
    };
    const request = { quick: flags.quick === true, seed: readSeed(flags.seed), signal: stop.signal, onProgress: progressLine(host, json), onText };
    const { passed, report, text } = await host.verify(flags, request);
    clearProgress(host);
    host.stdout.write(json ? `${JSON.stringify(report)}\n` : wrapUnder(text, host.stdout));
    return passed ? exitCodes.ok : exitCodes.negative;
  } catch (error) {
    clearProgress(host);
    throw error;
  } finally {
    stopListening();
  }
}

/** The report's paragraphs have a margin of eleven columns, which wrapped lines keep. */
function wrapUnder(text: string, { isTTY, columns }: Output): string {
  if (isTTY !== true || columns === undefined) return text;
  const margin = 11;
  return text
    .split("\n")
    .map((line) => (line.length <= columns ? line : line.slice(0, margin) + wrap(line.slice(margin), Math.max(20, columns - margin)).replaceAll("\n", `\n${" ".repeat(margin)}`)))
    .join("\n");
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

/** On a terminal, one line that is overwritten; otherwise, for a log, one line per campaign. Never on standard output. */
function progressLine({ stderr }: CliHost, json: boolean): VerifyRequest["onProgress"] {
  let shown = "";
  return (campaign, done, { nth, of }) => {
    const line = `${nth} of ${of}: ${campaign}${stderr.isTTY ? ` ${Math.floor(done * 100)} %` : ""}`;
    if (line === shown || (json && !stderr.isTTY)) return;
    shown = line;
    stderr.write(stderr.isTTY ? `\r\u001b[K${line}` : `${line} …\n`);
  };
}
