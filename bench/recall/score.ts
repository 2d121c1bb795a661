import type { Ranked } from "../../src/search/ranking.ts";
import { quantile } from "../rounds.ts";
import type { Question } from "./labelled-set.ts";

export interface KindScore {
  readonly kind: string;
  readonly questions: number;
  /** Shares from 0 to 1. */
  readonly hit1: number;
  readonly hit3: number;
  readonly meanReciprocalRank: number;
}

export interface Scores {
  readonly kinds: readonly KindScore[];
  readonly all: KindScore;
  readonly unrelated: number;
  /** Unrelated questions with any result. */
  readonly falseRecalls: number;
  /** The same for each kind of unrelated question. */
  readonly silence: readonly { readonly kind: string; readonly questions: number; readonly answered: number }[];
  readonly p95Ms: number;
}

export const answersCounted = 3;

/** Asks every question and compares the results with its label. */
export async function score(questions: readonly Question[], ask: (question: string) => Promise<readonly Pick<Ranked, "key">[]>): Promise<Scores> {
  const ranks = new Map<string, (number | undefined)[]>();
  const timesMs: number[] = [];
  const answered = new Map<string, boolean[]>();
  for (const { text, kind, note } of questions) {
    const startedMs = performance.now();
    const hits = await ask(text);
    timesMs.push(performance.now() - startedMs);
    if (note === undefined) {
      answered.set(kind, [...(answered.get(kind) ?? []), hits.length > 0]);
    } else {
      const at = hits.slice(0, answersCounted).findIndex(({ key }) => key === `note/${note}`);
      ranks.set(kind, [...(ranks.get(kind) ?? []), at === -1 ? undefined : at + 1]);
    }
  }
  const kinds = Array.from(ranks, ([kind, found]) => kindScore(kind, found));
  const silence = Array.from(answered, ([kind, some]) => ({ kind, questions: some.length, answered: some.filter(Boolean).length }));
  return {
    kinds,
    all: kindScore("all", [...ranks.values()].flat()),
    unrelated: silence.reduce((sum, { questions: count }) => sum + count, 0),
    falseRecalls: silence.reduce((sum, { answered: count }) => sum + count, 0),
    silence,
    p95Ms: quantile(timesMs, 0.95),
  };
}

function kindScore(kind: string, ranks: readonly (number | undefined)[]): KindScore {
  const share = (count: number): number => (ranks.length === 0 ? 0 : count / ranks.length);
  return {
    kind,
    questions: ranks.length,
    hit1: share(ranks.filter((rank) => rank === 1).length),
    hit3: share(ranks.filter((rank) => rank !== undefined).length),
    meanReciprocalRank: share(ranks.reduce<number>((sum, rank) => sum + (rank === undefined ? 0 : 1 / rank), 0)),
  };
}
