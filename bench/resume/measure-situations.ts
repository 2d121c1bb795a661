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
  readonly calls: number;
  readonly rounds: number;
}

/** Every situation in every budget. `folder` is where repositories are made. */
export async function measureSituations(situations: readonly Situation[], folder: string): Promise<readonly Measured[]> {
  const measured: Measured[] = [];
  for (const situation of situations) {
    const place = join(folder, situation.name);
    mkdirSync(place);
    const played = await playSituation(situation, place);
    for (const tokensMax of budgets) {
      const { text, calls, rounds } = await played.ask(tokensMax);
      const tail = scorePack(situation, await played.tail(tokensMax), tokensMax);
      measured.push({ name: situation.name, tokensMax, text, resume: scorePack(situation, text, tokensMax), tail, calls, rounds });
    }
  }
  return measured;
}

export interface Total {
  readonly share: number;
  readonly noise: readonly string[];
}

export function totalOf(measured: readonly Measured[], tokensMax: number, of: "resume" | "tail" = "resume"): Total {
  const scores = measured.filter((each) => each.tokensMax === tokensMax).map((each) => ({ name: each.name, score: each[of] }));
  const sum = (count: (score: PackScore) => number): number => scores.reduce((total, { score }) => total + count(score), 0);
  return { share: sum(({ found }) => found) / sum(({ keys }) => keys), noise: scores.flatMap(({ name, score }) => score.noise.map((item) => `${name}: ${item}`)) };
}
