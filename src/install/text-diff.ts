/** The number of unchanged lines shown around a change. */
const contextLines = 2;
/** Longer texts that differ are shown whole: computing the shortest difference would take too long. */
const comparedLinesMax = 2_000;

interface Line {
  readonly mark: " " | "-" | "+";
  readonly text: string;
}

/** The lines that differ, with a little context. An absent text has no lines. */
export function textDiff(before: string | undefined, after: string | undefined): string {
  const lines = compare(linesOf(before), linesOf(after));
  const shown = lines.map((_, i) => lines.slice(Math.max(0, i - contextLines), i + contextLines + 1).some(({ mark }) => mark !== " "));
  const parts: string[] = [];
  for (const [i, { mark, text }] of lines.entries()) {
    if (shown[i]) parts.push(`${mark} ${text}`.trimEnd());
    else if (shown[i - 1] || i === 0) parts.push("  …");
  }
  return parts.join("\n");
}

const linesOf = (text: string | undefined): string[] => (text === undefined || text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/));

function compare(before: readonly string[], after: readonly string[]): Line[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < before.length - head && tail < after.length - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  const same = (text: string): Line => ({ mark: " ", text });
  return [
    ...before.slice(0, head).map(same),
    ...compareMiddle(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...before.slice(before.length - tail).map(same),
  ];
}

/** Longest common subsequence, by table. */
function compareMiddle(before: readonly string[], after: readonly string[]): Line[] {
  const whole: Line[] = [...before.map((text): Line => ({ mark: "-", text })), ...after.map((text): Line => ({ mark: "+", text }))];
  if (before.length === 0 || after.length === 0 || before.length + after.length > comparedLinesMax) return whole;
  const width = after.length + 1;
  const lengths = new Uint16Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i -= 1)
    for (let j = after.length - 1; j >= 0; j -= 1)
      lengths[i * width + j] =
        before[i] === after[j] ? (lengths[(i + 1) * width + j + 1] as number) + 1 : Math.max(lengths[(i + 1) * width + j] as number, lengths[i * width + j + 1] as number);
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push({ mark: " ", text: before[i] as string });
      i += 1;
      j += 1;
    } else if (j >= after.length || (i < before.length && (lengths[(i + 1) * width + j] as number) >= (lengths[i * width + j + 1] as number))) {
      lines.push({ mark: "-", text: before[i] as string });
      i += 1;
    } else {
      lines.push({ mark: "+", text: after[j] as string });
      j += 1;
    }
  }
  return lines;
}
