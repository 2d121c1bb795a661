const firstMsDefault = 1_000;
const longestMs = 60_000;

/** The delay after this failed attempt: it doubles with each attempt, up to one minute. */
export const backoffOf = (attempt: number, firstMs: number = firstMsDefault): number => Math.min(longestMs, firstMs * 2 ** (attempt - 1));
