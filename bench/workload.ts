/** The arguments of the calls: a small record under one of a thousand keys, as an agent's notes would be. */
export const keysInUse = 1_000;

export const keyOf = (n: number): string => `agents/worker-${n % 10}/note-${String(n % keysInUse).padStart(4, "0")}`;

export const noteOf = (n: number) => ({ n, status: "in progress", summary: "Read the failing test, found the wrong bound, next: write the fix and run the suite." });

export const setArguments = (n: number) => ({ key: keyOf(n), value: noteOf(n) });
export const getArguments = (n: number) => ({ key: keyOf(n) });
