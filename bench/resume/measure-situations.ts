import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { playSituation } from "./play-situation.ts";
import type { PackScore } from "./score-pack.ts";
import { scorePack } from "./score-pack.ts";
import type { Situation } from "./situation.ts";

export const budgets = [1_500, 500] as const;

export interface Measured {
  readonly name: string;
  readonly tokensMax: number;
  readonly text: string;
  readonly resume: PackScore;
  readonly tail: PackScore;
  /** Another memory server's; only if requested. */
  readonly peer?: PackScore;
  readonly calls: number;
  readonly rounds: number;
}

/** Every situation with every budget. Repositories are created in `folder`. */
export async function measureSituations(
  situations: readonly Situation[],
  folder: string,
  scorePeer?: (situation: Situation, tokensMax: number) => Promise<PackScore>,
): Promise<readonly Measured[]> {
  const measured: Measured[] = [];
  for (const situation of situations) {
    const place = join(folder, situation.name);
    mkdirSync(place);
    const played = await playSituation(situation, place);
    for (const tokensMax of budgets) {
      const { text, calls, rounds } = await played.ask(tokensMax);
      const tail = scorePack(situation, await played.tail(tokensMax), tokensMax);
      measured.push({ name: situation.name, tokensMax, text, resume: scorePack(situation, text, tokensMax), tail, peer: await scorePeer?.(situation, tokensMax), calls, rounds });
    }
  }
  return measured;
}

export interface Total {
  readonly share: number;
  readonly noise: readonly string[];
}

export function totalOf(measured: readonly Measured[], tokensMax: number, of: "resume" | "tail" | "peer" = "resume"): Total {
  const scores = measured.flatMap(({ name, tokensMax: budget, [of]: score }) => (budget !== tokensMax || score === undefined ? [] : [{ name, score }]));
  const sum = (count: (score: PackScore) => number): number => scores.reduce((total, { score }) => total + count(score), 0);
  return { share: sum(({ found }) => found) / sum(({ keys }) => keys), noise: scores.flatMap(({ name, score }) => score.noise.map((item) => `${name}: ${item}`)) };
}
