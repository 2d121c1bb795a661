/**
 * Runs one read at a time and shares it among all callers that asked before it began. A hundred concurrent viewers cost two reads, and none gets
 * data that was read before it asked.
 */
export function shareReads<Answer>(read: () => Promise<Answer>): () => Promise<Answer> {
  let running: Promise<Answer> | undefined;
  let next: Promise<Answer> | undefined;
  const begin = (): Promise<Answer> => {
    const run = read().finally(() => {
      if (running === run) running = undefined;
    });
    running = run;
    return run;
  };
  return () => {
    if (running === undefined) return begin();
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = undefined;
        return begin();
      });
    return next;
  };
}
