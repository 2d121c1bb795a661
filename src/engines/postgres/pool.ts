import { HoldfastError } from "../../kernel/errors.ts";
import { remaining } from "./pg-session.ts";
import { DeadlineError } from "./postgres-errors.ts";

export interface Pooled {
  readonly isLost: boolean;
  hold(isHeld: boolean): void;
  close(): Promise<void>;
  destroy(): void;
}

/** How long to wait after a failed connection before the next attempt: the server is not flooded, and callers get the error at once. */
const backoffMs = { first: 50, max: 1_000 } as const;

/** A limited number of connections, opened when needed and reused most recently used first. Waiting for one ends at the caller's deadline. */
export class Pool<S extends Pooled> {
  readonly #open: (deadlineMs: number) => Promise<S>;
  readonly #max: number;
  readonly #idle: S[] = [];
  readonly #all = new Set<S>();
  readonly #waiting = new Set<() => void>();
  #opening = 0;
  #failed: { readonly error: unknown; readonly untilMs: number; readonly delayMs: number } | undefined;
  #closed = false;

  constructor(open: (deadlineMs: number) => Promise<S>, max: number) {
    this.#open = open;
    this.#max = max;
  }

  get connections(): number {
    return this.#all.size;
  }

  /** `work` has exclusive use of the connection until it ends; a broken connection is not used again. `deadlineMs` by `performance.now()`. */
  async use<T>(deadlineMs: number, work: (session: S, isFresh: boolean) => Promise<T>): Promise<T> {
    const { session, isFresh } = await this.#acquire(deadlineMs);
    try {
      return await work(session, isFresh);
    } finally {
      this.#release(session);
    }
  }

  /** A lost connection suggests that the others are lost too, so the idle ones are closed before a caller gets one of them. */
  dropIdle(): void {
    for (const session of this.#idle.splice(0)) this.#forget(session);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const wake of this.#waiting) wake();
    await Promise.all([...this.#all].map((session) => session.close()));
    this.#all.clear();
  }

  async #acquire(deadlineMs: number): Promise<{ readonly session: S; readonly isFresh: boolean }> {
    for (;;) {
      if (this.#closed) throw new HoldfastError("unavailable", "The store is closed.");
      for (let session = this.#idle.pop(); session !== undefined; session = this.#idle.pop()) {
        if (!session.isLost) {
          session.hold(true);
          return { session, isFresh: false };
        }
        this.#forget(session);
      }
      if (this.#all.size + this.#opening < this.#max) return { session: await this.#connect(deadlineMs), isFresh: true };
      await this.#turn(deadlineMs);
    }
  }

  async #connect(deadlineMs: number): Promise<S> {
    if (this.#failed !== undefined && performance.now() < this.#failed.untilMs) throw this.#failed.error;
    this.#opening += 1;
    try {
      const session = await this.#open(deadlineMs);
      this.#failed = undefined;
      this.#all.add(session);
      if (this.#closed) this.#forget(session);
      return session;
    } catch (error) {
      const delayMs = Math.min(backoffMs.max, (this.#failed?.delayMs ?? backoffMs.first / 2) * 2);
      this.#failed = { error, delayMs, untilMs: performance.now() + delayMs * (0.5 + Math.random() / 2) };
      throw error;
    } finally {
      this.#opening -= 1;
      this.#wakeOne();
    }
  }

  #release(session: S): void {
    if (session.isLost || this.#closed) this.#forget(session);
    else {
      session.hold(false);
      this.#idle.push(session);
    }
    this.#wakeOne();
  }

  #forget(session: S): void {
    this.#all.delete(session);
    session.destroy();
  }

  #wakeOne(): void {
    const [next] = this.#waiting;
    next?.();
  }

  #turn(deadlineMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(wake);
        reject(new DeadlineError());
      }, remaining(deadlineMs));
      this.#waiting.add(wake);
    });
  }
}
