import type { Violation } from "./checkers/violation.ts";

/** The guarantees that `holdfast verify` tests, as stated in docs/guarantees.md. */
export const promises = {
  G1: "An acknowledged write survives kill -9 of any of our processes.",
  G3: "Compare-and-set never loses an update; exactly one racing writer wins.",
  G4: "Revisions and versions only grow, have no gaps and are never used twice.",
  G5: "A commit of several keys takes effect completely at one revision, or not at all.",
  G6: "An entry is never gone before its time and never returned after it, by the engine's clock.",
  G7: "A lease has at most one live holder, tokens only grow, and a write with a stale token is rejected.",
  G8: "A claim has one winner; the next claimant resumes from the last acknowledged step; the replaced worker can change nothing.",
  G9: "The same request key and arguments give the same answer and no second effect.",
  G10: "A watch is ordered, unique, complete, atomic per revision and resumable.",
  G11: "Every change is in the history exactly once, and the history reproduces the state.",
  G20: "An effect takes place at most once unless a caller reports that it did not.",
  G21: "Every effect whose outcome is unknown is listed.",
  G22: "A worker that was replaced cannot begin an effect.",
} as const;

export type Guarantee = keyof typeof promises;

export interface GuaranteeReport {
  readonly id: Guarantee;
  readonly promise: string;
  readonly passed: boolean;
  /** What was done to test it, by campaign. */
  readonly figures: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly violations: readonly Violation[];
}

export interface Report {
  readonly passed: boolean;
  readonly version: string;
  readonly engine: string;
  /** What an acknowledged write survives, according to the engine. */
  readonly durability: string;
  /** The same seed gives the same campaigns, as far as processes are repeatable. */
  readonly seed: number;
  readonly seconds: number;
  readonly guarantees: readonly GuaranteeReport[];
}

const violationsShown = 5;

/** The report as text for people. Each guarantee is written when it is judged, and the verdict at the end. */
export class ReportText {
  readonly #written = new Map<Guarantee, boolean>();
  /** The guarantee under which a campaign's figures were printed, because a campaign that tests several is printed once. */
  readonly #toldAt = new Map<string, Guarantee>();

  guarantee({ id, promise, passed, figures, violations }: GuaranteeReport): string {
    this.#written.set(id, passed);
    const lines = [`${passed ? "pass" : "FAIL"}  ${id.padEnd(3)}  ${promise}`];
    for (const [campaign, counts] of Object.entries(figures)) {
      const earlier = this.#toldAt.get(campaign);
      if (earlier !== undefined) {
        lines.push(`           ${campaign}: see ${earlier}`);
        continue;
      }
      this.#toldAt.set(campaign, id);
      const told = Object.entries(counts).map(([name, count]) => `${count.toLocaleString("en")} ${name.replaceAll("_", " ")}`);
      lines.push(`           ${campaign}: ${told.join(", ")}`);
    }
    for (const { fault, detail } of violations.slice(0, violationsShown)) lines.push(`           ${fault}: ${detail}`);
    if (violations.length > violationsShown) lines.push(`           and ${violations.length - violationsShown} more; --json lists them`);
    return `${lines.join("\n")}\n`;
  }

  /** The verdict, and guarantees that changed since they were written: a later campaign may have broken one that had passed. */
  end(report: Report): string {
    const changed = report.guarantees.filter(({ id, passed }) => this.#written.get(id) !== passed);
    const failed = report.guarantees.filter(({ passed }) => !passed).map(({ id }) => id);
    const verdict = failed.length === 0 ? `All ${report.guarantees.length} guarantees held` : `Broken: ${failed.join(", ")}`;
    return `${changed.map((guarantee) => this.guarantee(guarantee)).join("")}\nEngine: ${report.engine}; ${report.durability}\n${verdict} (${report.seconds} s, seed ${report.seed}).\n`;
  }
}
