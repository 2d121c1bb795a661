import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Measured } from "./measure-situations.ts";
import { budgets, measureSituations, totalOf } from "./measure-situations.ts";
import { scoreServerMemory } from "./peers.ts";
import { readSituations } from "./situation.ts";

const help = `npm run bench:resume -- [--only NAME] [--show] [--missing] [--peers]

Plays the situations of bench/resume/situations and scores what resume, or the session-start hook, gives back.

  --only NAME   only situations whose name contains NAME
  --show        print each text
  --missing     list the keys that were not found, and the noise
  --peers       also score the output of another memory server (read_graph of MCP's server-memory)
`;

const { values: flags } = parseArgs({
  options: { only: { type: "string", default: "" }, show: { type: "boolean" }, missing: { type: "boolean" }, peers: { type: "boolean" }, help: { type: "boolean" } },
});

async function run(): Promise<void> {
  const situations = readSituations(join("bench", "resume", "situations")).filter(({ name }) => name.includes(flags.only));
  const folder = mkdtempSync(join(tmpdir(), "holdfast-resume-"));
  try {
    const measured = await measureSituations(situations, folder, flags.peers === true ? scoreServerMemory : undefined);
    if (flags.show === true) for (const { name, tokensMax, text } of measured) process.stdout.write(`--- ${name}, ${tokensMax} tokens\n${text}\n`);
    process.stdout.write(table(measured));
    if (flags.missing === true) for (const each of measured) process.stdout.write(complaints(each));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

function table(measured: readonly Measured[]): string {
  const names = [...new Set(measured.map(({ name }) => name))];
  const columns = budgets.flatMap((tokensMax) => [`keys in ${tokensMax}`, "tokens", "noise", "journal tail", ...(flags.peers === true ? ["server-memory"] : [])]);
  const rows = names.map((name) => {
    const cells = budgets.flatMap((tokensMax) => {
      const { resume, tail, peer } = measured.find((each) => each.name === name && each.tokensMax === tokensMax) as Measured;
      const others = [tail, ...(peer === undefined ? [] : [peer])].map(({ found, keys }) => `${found} of ${keys}`);
      return [`${resume.found} of ${resume.keys}`, resume.tokens, resume.noise.length, ...others];
    });
    const { calls, rounds } = measured.find((each) => each.name === name) as Measured;
    return [name, ...cells, calls, rounds];
  });
  const totals = budgets.flatMap((tokensMax) => {
    const mean = (of: (each: Measured) => number): number => {
      const some = measured.filter((each) => each.tokensMax === tokensMax);
      return Math.round(some.reduce((sum, each) => sum + of(each), 0) / some.length);
    };
    const { share, noise } = totalOf(measured, tokensMax);
    return [
      percent(share),
      mean(({ resume }) => resume.tokens),
      noise.length,
      ...(["tail", ...(flags.peers === true ? ["peer" as const] : [])] as const).map((of) => percent(totalOf(measured, tokensMax, of).share)),
    ];
  });
  const most = (of: (each: Measured) => number): number => Math.max(...measured.map(of));
  const lines = [["situation", ...columns, "engine calls", "rounds"], [], ...rows, ["**all**", ...totals, most(({ calls }) => calls), most(({ rounds }) => rounds)]];
  return `${lines.map((cells) => (cells.length === 0 ? `|---|${"---:|".repeat(columns.length + 2)}` : `| ${cells.join(" | ")} |`)).join("\n")}\n`;
}

const complaints = ({ name, tokensMax, resume }: Measured): string =>
  [...resume.missing.map((key) => `missing: ${key}`), ...resume.noise.map((item) => `noise: ${item}`)].map((line) => `${name} (${tokensMax}) ${line}\n`).join("");

if (flags.help === true) process.stdout.write(help);
else await run();
