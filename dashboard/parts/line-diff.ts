export interface DiffLine {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
  readonly oldLine?: number;
  readonly newLine?: number;
}

/** More differences than this are unreadable, and computing the minimum would take long. */
const differencesMax = 800;

/** The fewest deletions and insertions that turn one text into the other (Myers); undefined if the texts have too little in common. */
export function lineDiff(before: string, after: string): readonly DiffLine[] | undefined {
  const a = before === "" ? [] : before.split("\n");
  const b = after === "" ? [] : after.split("\n");
  const path = shortestEdit(a, b);
  if (path === undefined) return undefined;
  const lines: DiffLine[] = [];
  let x = a.length;
  let y = b.length;
  for (let d = path.length - 1; d >= 0; d -= 1) {
    const reached = path[d] ?? new Map<number, number>();
    const k = x - y;
    const down = d === 0 || k === -d || (k !== d && (reached.get(k - 1) ?? -1) < (reached.get(k + 1) ?? -1));
    const startX = d === 0 ? 0 : (reached.get(down ? k + 1 : k - 1) ?? 0);
    const startY = d === 0 ? 0 : startX - (down ? k + 1 : k - 1);
    while (x > startX + (d > 0 && !down ? 1 : 0) && y > startY + (d > 0 && down ? 1 : 0)) {
      lines.push({ kind: "same", text: a[x - 1] ?? "", oldLine: x, newLine: y });
      x -= 1;
      y -= 1;
    }
    if (d === 0) break;
    if (down) lines.push({ kind: "added", text: b[y - 1] ?? "", newLine: y });
    else lines.push({ kind: "removed", text: a[x - 1] ?? "", oldLine: x });
    x = startX;
    y = startY;
  }
  return lines.reverse();
}

/** For each number of differences d, how far each diagonal was reached before step d. */
function shortestEdit(a: readonly string[], b: readonly string[]): readonly Map<number, number>[] | undefined {
  const reached = new Map<number, number>([[1, 0]]);
  const steps: Map<number, number>[] = [];
  for (let d = 0; d <= Math.min(a.length + b.length, differencesMax); d += 1) {
    steps.push(new Map(reached));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && (reached.get(k - 1) ?? -1) < (reached.get(k + 1) ?? -1));
      let x = down ? (reached.get(k + 1) ?? 0) : (reached.get(k - 1) ?? 0) + 1;
      let y = x - k;
      while (x < a.length && y < b.length && a[x] === b[y]) {
        x += 1;
        y += 1;
      }
      reached.set(k, x);
      if (x >= a.length && y >= b.length) return steps;
    }
  }
  return undefined;
}
