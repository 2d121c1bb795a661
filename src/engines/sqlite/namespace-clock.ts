import type { Clock } from "../../kernel/clock.ts";
import type { SqliteNamespaceRow } from "./namespace-row.ts";

/**
 * The engine's clock: the host's, but never going back within a namespace. The row remembers the last commit's time for everybody;
 * here is remembered what this process has answered with, so that what a reader saw expire stays expired.
 */
export class SqliteNamespaceClock {
  readonly #host: Clock;
  readonly #seenMs = new Map<string, number>();

  constructor(host: Clock) {
    this.#host = host;
  }

  nowMs(namespace: string, row: Pick<SqliteNamespaceRow, "clockMs">): number {
    const nowMs = Math.max(this.#host.nowMs(), row.clockMs, this.#seenMs.get(namespace) ?? 0);
    this.#seenMs.set(namespace, nowMs);
    return nowMs;
  }

  /** How far the namespace's clock is ahead of the host's. */
  aheadMs(namespace: string, row: Pick<SqliteNamespaceRow, "clockMs">): number {
    return this.nowMs(namespace, row) - this.#host.nowMs();
  }
}
