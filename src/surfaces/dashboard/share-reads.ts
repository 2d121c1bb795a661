/**
 * One run at a time, shared by every caller that asked before it began: a hundred viewers at once cost two reads, and none is shown
 * what was read before they asked.
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
