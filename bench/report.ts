import type { Against, Spread } from "./rounds.ts";

export type Unit = "per second" | "ms" | "µs" | "MiB" | "tokens" | "count";
export type Budget = { readonly atLeast: number } | { readonly atMost: number };

/** One line of the report. The budget applies to the ratio if there is a floor, otherwise to the figure itself. */
export interface Figure {
  readonly what: string;
  readonly unit: Unit;
  readonly value: Spread;
  readonly floor?: { readonly what: string; readonly value: number };
  readonly ratio?: Spread;
  /** Absent: for information. */
  readonly budget?: Budget;
}

export const against = (what: string, unit: Unit, floorName: string, { figure, floor, ratio }: Against, budget?: Budget): Figure => ({
  what,
  unit,
  value: figure,
  floor: { what: floorName, value: floor.median },
  ratio,
  budget,
});

export function isKept({ value, ratio, budget }: Figure): boolean | undefined {
  if (budget === undefined) return undefined;
  const judged = (ratio ?? value).median;
  return "atLeast" in budget ? judged >= budget.atLeast : judged <= budget.atMost;
}

/** The report for people. */
export function renderTable(figures: readonly Figure[]): string {
  const rows = [
    ["what", "figure", "floor", "ratio (rounds)", "budget", ""],
    ...figures.map((figure) => {
      const { what, unit, value, floor, ratio, budget } = figure;
      const kept = isKept(figure);
      return [
        what,
        `${amount(value.median)} ${shortUnit[unit]}`,
        floor === undefined ? "" : `${floor.what} ${amount(floor.value)}`,
        ratio === undefined ? "" : `${times(ratio.median)} (${times(ratio.min)}–${times(ratio.max)})`,
        budget === undefined ? "" : budgetText(budget, ratio === undefined ? shortUnit[unit] : "×"),
        kept === undefined ? "" : kept ? "ok" : "OVER",
      ];
    }),
  ];
  const widths = (rows[0] as string[]).map((_, column) => Math.max(...rows.map((row) => (row[column] as string).length)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => (column === 1 ? cell.padStart(widths[column] as number) : cell.padEnd(widths[column] as number)))
      .join("  ")
      .trimEnd(),
  );
  return `${lines.join("\n")}\n`;
}

/** The report for programs. */
export const toJson = (figures: readonly Figure[]): object[] =>
  figures.map((figure) => {
    const kept = isKept(figure);
    return { ...figure, ...(kept === undefined ? {} : { kept }) };
  });

const shortUnit: Readonly<Record<Unit, string>> = { "per second": "/s", ms: "ms", µs: "µs", MiB: "MiB", tokens: "tokens", count: "" };

const amount = (value: number): string => (value >= 1_000 ? Math.round(value).toLocaleString("en-US") : value >= 100 ? value.toFixed(0) : value.toFixed(value >= 10 ? 1 : 2));
const times = (ratio: number): string => ratio.toFixed(2);
const budgetText = (budget: Budget, unit: string): string => ("atLeast" in budget ? `≥ ${budget.atLeast} ${unit}` : `≤ ${budget.atMost.toLocaleString("en-US")} ${unit}`);
