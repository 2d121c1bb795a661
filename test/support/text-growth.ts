/**
 * Whether a function's cost grows with the length of its text and no faster. Both measurements do the same amount of work when it does:
 * one call with a long text, and several calls with a text that is so many times shorter. No figure depends on how fast the machine is.
 */

/** How many times longer the long text is, and so how often the short one is used. */
const factor = 4;
/** The characters of the short text. Both find a quadratic cost; the longer one also where it hides behind a large linear one. */
export const lengths = { quick: 400, full: 1_000 } as const;
/** A quadratic function has a ratio of 4; a linear one is near 1 once the noise of other programs is out of both figures. */
const ratioMax = 2.5;
const triesMax = 40;
/** Less than this the processor's clock does not tell apart. */
const clockStepUs = 10;

/** One character, or several, of every class that some code tells apart. */
const classes: readonly string[] = [
  ..."Aaz09_. -'’\"`\n\r\t/\\%*@:;,=?#&+<>[]{}()|~^$!",
  "\u0301", // a combining mark
  "\u00e9",
  "\u00df",
  "\u0416",
  "\u0639",
  "\u064b",
  "\u4e2d",
  "\u3042",
  "\u30fc",
  "\u0e01",
  "\u0e34",
  "\u{1f600}",
  "\ud83d", // half of a pair
  "\u200d",
  "\u202e",
  "\u2028",
  "\u0000",
  "\ufeff",
];

/** Neighbours that the rules for identifiers, strings, paths and marks treat apart from each of the two alone. */
const pairs: readonly string[] = [
  ...["aA", "Aa", "a1", "A1", "a_", "a.", "1.", "a-", "a'", "a’", "'.", ". ", "a ", "A ", "1 ", "a\n", " \n", "\n ", "\t ", "\r\n", "\n\n", "\n#", "\n-", "\n- ", "\n## "],
  ...['"a', '""', '\\"', '"\\"', "\\\\", "\\%", "%a", "%_", "a%", "%4", "%41", "a/", "//", "/.", "../", "./", "@a", ":a", "a:", "a@", ": ", "?a", "?&", "&a", "a=", "=a", "=?"],
  ...[
    "[a",
    "[[",
    "]]",
    "{a",
    "{}",
    "[]",
    "()",
    "<a",
    "<!--",
    "-->",
    "--",
    "---\n",
    "**",
    "**a",
    "```",
    "``",
    "> ",
    "a\u0301",
    "\u0301a",
    "\u4e2da",
    "\u4e2d\u3042",
    "\u0e01\u0e34",
  ],
  ...["eyJ-", "eyJa.", "-----BEGIN ", "Bearer ", "sk-", "hf_", "://", "a://b:", "0x", "1e", "1ms", "1s", "n't", "nn't", "\ud83d\ude00\u200d", "\u064b\u0639"],
];

/** What makes an expression that has read a whole run give up at its end. */
const ends: readonly string[] = ["", "!", "\n", "a"];

const run = (start: string, unit: string, end: string): ((length: number) => string) => {
  const made = new Map<number, string>();
  return (length) => {
    const text = made.get(length) ?? flat(`${start}${unit.repeat(Math.ceil(length / unit.length))}${end}`);
    made.set(length, text);
    return text;
  };
};
/** One piece in memory: the first reader of a text that was put together pays for joining it. */
const flat = (text: string): string => Buffer.from(text, "utf16le").toString("utf16le");

const units = [...classes, ...pairs];
const everyRun = ["", "a"].flatMap((start) => units.flatMap((unit) => ends.map((end) => run(start, unit, end))));

/** One of every kind of run, followed by something else. */
export const plainRuns: readonly ((length: number) => string)[] = units.map((unit) => run("", unit, "!"));

/** Every kind of run, and those of the pieces that the caller knows to matter. */
export function* longTexts(pieces: readonly string[] = []): Generator<(length: number) => string> {
  yield* everyRun;
  for (const start of ["", ...pieces])
    for (const unit of [...pieces, ..."aA0 .:/@'\""]) if (start !== "" || pieces.includes(unit)) for (const end of ends) yield run(start, unit, end);
}

/** What this process used, not what passed: others on the machine are no part of it. */
const usedUs = (work: (text: string) => unknown, text: string, times: number): number => {
  const before = process.cpuUsage();
  for (let i = 0; i < times; i += 1) work(text);
  const { user, system } = process.cpuUsage(before);
  return user + system + clockStepUs;
};

/** Undefined when the cost is linear; otherwise how many times more each character costs in a text that is four times longer. */
export function excessOf(work: (text: string) => unknown, textOf: (length: number) => string, length: number): number | undefined {
  const tiny = exploding(work, textOf);
  if (tiny !== undefined) return tiny;
  const [short, long] = [textOf(length), textOf(length * factor)];
  let [shortBest, longBest] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let tries = 0; tries < triesMax; tries += 1) {
    longBest = Math.min(longBest, usedUs(work, long, 1));
    shortBest = Math.min(shortBest, usedUs(work, short, factor));
    if (longBest <= ratioMax * shortBest) return undefined;
  }
  return longBest / shortBest;
}

/** Exponential cost would not end at the lengths above: it shows between lengths that differ by a few characters, where anything else is nearly equal. */
function exploding(work: (text: string) => unknown, textOf: (length: number) => string): number | undefined {
  const steps = [14, 18, 22];
  let best: number | undefined;
  for (let tries = 0; tries < triesMax; tries += 1) {
    const [first = 1, second = 1, third = 1] = steps.map((length) => usedUs(work, textOf(length), 1));
    const ratio = Math.min(second / first, third / second);
    best = Math.min(best ?? ratio, ratio);
    if (best <= ratioMax) return undefined;
  }
  return best;
}
