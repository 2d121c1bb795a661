/** The same numbers for the same seed: a failing load can be run again. Whole numbers from 0 to `below` - 1. */
export function seededRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    // A linear congruential step (Knuth's constants for 32 bits); the high half is random enough to spread a load.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor(((state >>> 8) / 0x1_00_00_00) * below);
  };
}
