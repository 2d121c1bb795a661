const given = process.env.HOLDFAST_TEST_SCALE;
const scale = given === undefined ? 1 : Number(given);
if (!(scale >= 0.05 && scale <= 100)) throw new Error(`HOLDFAST_TEST_SCALE: must be a number from 0.05 to 100 (got "${given}").`);

/** How many repetitions a campaign makes: `count` at scale 1, never fewer than `min`, below which it would prove nothing. */
export const scaled = (count: number, min = 1): number => Math.max(min, Math.round(count * scale));

/** For a campaign whose size is a single event, such as one failover: it happens once up to scale 1, and again and again above it. */
export const once = { repeats: scaled(1) - 1 } as const;
