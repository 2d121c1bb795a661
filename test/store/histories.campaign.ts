import { randomInt } from "node:crypto";
import { engines } from "../support/engines.ts";
import { scaled } from "../support/scale.ts";
import { describeHistories } from "./histories.ts";

/** Other histories in every run; a failure prints the seed that finds it again. */
const seed = randomInt(2 ** 31);

for (const { name, freshUrl, openOnClock, isServer } of engines)
  if (name !== "memory") describeHistories(`${name}, seed ${seed}`, async (clock) => openOnClock(await freshUrl(), clock), scaled(isServer ? 200 : 1_000, 20), seed);
