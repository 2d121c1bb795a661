import type { Violation } from "./violation.ts";
import { Violations } from "./violation.ts";

/** Many racers tried to take one thing (a version, a lease, a run) at once; `winners` got a success. */
export interface Race {
  readonly name: string;
  readonly winners: readonly string[];
  /** Racers that sent a request but got no answer; they may have won without knowing. */
  readonly unanswered: readonly string[];
  /** The holder according to the store. */
  readonly holder: string | undefined;
}

/** G3, G8. Exactly one racer wins, and it is the one that the store names. */
export function checkOneWinner(races: readonly Race[]): readonly Violation[] {
  const violations = new Violations("G8");
  for (const { name, winners, unanswered, holder } of races) {
    if (winners.length > 1) violations.add("several_winners", `${name}: ${winners.join(", ")} all received a success.`);
    if (winners.length === 0 && unanswered.length === 0) violations.add("no_winner", `${name}: every racer was refused because another had won.`);
    if (holder === undefined && winners.length > 0) violations.add("winner_forgotten", `${name}: ${winners.join(", ")} won, and the store knows no holder.`);
    if (holder !== undefined && winners.length > 0 && !winners.includes(holder))
      violations.add("holder_differs", `${name}: ${winners.join(", ")} won, and the store names ${holder}.`);
    if (holder !== undefined && winners.length === 0 && !unanswered.includes(holder))
      violations.add("holder_invented", `${name}: the store names ${holder}, which was rejected or did not race.`);
  }
  return violations.list();
}
