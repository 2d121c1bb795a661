import { stateKeys, workflowKeys } from "../../domain/keyspace.ts";
import type { LogRow } from "../../store/store.ts";
import type { CampaignContext, CampaignResult } from "../campaign.ts";
import { Arena, asNumber, pause } from "../campaign.ts";
import { checkRetrySafe } from "../checkers/retry-safe.ts";
import { between } from "../random.ts";
import { readWholeLog } from "../read-whole.ts";

/**
 * G9. A process that sends requests with request keys is killed between sending one and receiving the answer. Its successor sends the same request again
 * and continues. At the end every request, answered or not, is sent once more. Effects are counted in the log.
 */
export async function retrySafe(context: CampaignContext, { cuts, lines }: { readonly cuts: number; readonly lines: number }): Promise<CampaignResult> {
  await using arena = new Arena(context, "retry");
  const answers = new Map<number, string[]>();
  const answersOf = (index: number): string[] => {
    const known = answers.get(index) ?? [];
    answers.set(index, known);
    return known;
  };
  let cut = 0;
  let cutBeforeAnswer = 0;
  let sentAgain = 0;
  // Each line of processes has its own range of numbers.
  const line = async (number: number): Promise<void> => {
    let from = number * indexesPerLine;
    while (cut < cuts) {
      const killAt = from + between(arena.random, 1, 25);
      let open: number | undefined;
      const worker = arena.start("retry", { from, until: (number + 1) * indexesPerLine }, (message) => {
        if (message.sent !== undefined) {
          open = asNumber(message.sent);
          answersOf(open);
          // Kills between the line that reports sending and the one with the answer; the random pause spreads the kills over the commit.
          if (open === killAt) void pause(between(arena.random, 0, 1)).then(() => worker.kill());
        } else {
          answersOf(asNumber(message.answered)).push(String(message.answer));
          open = undefined;
        }
        from = Math.max(from, asNumber(message.sent ?? message.answered) + (message.sent === undefined ? 1 : 0));
      });
      await worker.ended;
      cut += 1;
      if (open !== undefined) {
        cutBeforeAnswer += 1;
        sentAgain += 1;
      }
      arena.progress((0.9 * cut) / cuts);
    }
  };
  await Promise.all(Array.from({ length: lines }, (_, number) => line(number)));
  const again = arena.start("retry", { again: true }, (message) => answersOf(asNumber(message.answered)).push(String(message.answer)));
  for (const index of answers.keys()) again.send({ index });
  sentAgain += answers.size;
  await again.finish();
  const { rows } = await readWholeLog(arena.store);
  const effects = new Map<number, number>();
  for (const row of rows) {
    const index = indexOf(row);
    if (index !== undefined) effects.set(index, (effects.get(index) ?? 0) + 1);
  }
  return {
    figures: {
      requests: answers.size,
      processes_killed: cut,
      cut_before_the_answer: cutBeforeAnswer,
      sent_again: sentAgain,
      effects: [...effects.values()].reduce((sum, count) => sum + count, 0),
    },
    violations: checkRetrySafe([...answers].map(([index, given]) => ({ key: `request-${index}`, answers: given, effects: effects.get(index) ?? 0 }))),
  };
}

const indexesPerLine = 1_000_000;

/** The request that caused a log row, identified by its key or by the name of the run it creates. */
function indexOf(row: LogRow): number | undefined {
  if (row.key.startsWith(statePrefix)) return Number(row.key.slice(statePrefix.length));
  if (!row.key.startsWith(workflowKeys.runs.start) || row.version !== 1) return undefined;
  return Number((row.value as { name: string }).name.slice("request/".length));
}

const statePrefix = stateKeys.key("request/");
