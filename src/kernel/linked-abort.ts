/** A signal of one piece of work, which others end too. */
export interface LinkedAbort {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
  /** The work is over: signals that live longer forget it. */
  unlink(): void;
}

/** Like `AbortSignal.any`, which on some runtimes keeps every signal that it made for as long as the longest-lived of its sources. */
export function linkedAbort(...sources: readonly (AbortSignal | undefined)[]): LinkedAbort {
  const controller = new AbortController();
  const links = sources.flatMap((source) => {
    if (source === undefined) return [];
    const pass = (): void => controller.abort(source.reason);
    if (source.aborted) pass();
    else source.addEventListener("abort", pass, { once: true });
    return [() => source.removeEventListener("abort", pass)];
  });
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    unlink() {
      for (const unlink of links) unlink();
    },
  };
}
