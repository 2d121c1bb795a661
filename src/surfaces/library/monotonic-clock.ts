import type { Clock } from "../../kernel/clock.ts";
import { systemClock } from "../../kernel/clock.ts";

/** For local deadlines: setting the system clock does not change it. */
export const monotonicClock: Pick<Clock, "nowMs" | "sleep"> = { nowMs: () => performance.now(), sleep: systemClock.sleep };
