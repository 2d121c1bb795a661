import type { Clock } from "../../kernel/clock.ts";
import { isHoldfastError } from "../../kernel/errors.ts";
import type { Json } from "../../kernel/json.ts";
import type { Engine, EngineHealth } from "../../store/store.ts";

export interface ReadinessOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly version: string;
  /** The engine's time limit; load balancers give up a little later. */
  readonly deadlineMs?: number;
}

export interface Readiness {
  readonly ready: boolean;
  readonly facts: { readonly [name: string]: Json };
}

/** Concurrent health checks share one read, so that they cannot overload the store. */
const freshMs = 500;
const namespacesMax = 64;

/**
 * Reports whether calls can be served now, what an acknowledged write survives, and what needs attention. It covers only the caller's own namespace,
 * because a warning may name revisions. It contains no path, address or setting of the store.
 */
export function openReadiness({ engine, clock, version, deadlineMs = 2_000 }: ReadinessOptions): (namespace: string) => Promise<Readiness> {
  const looks = new Map<string, { readonly atMs: number; readonly readiness: Promise<Readiness> }>();

  const look = async (namespace: string): Promise<Readiness> => {
    const beganMs = clock.nowMs();
    const done = new AbortController();
    try {
      const late = clock.sleep(deadlineMs, done.signal).then(() => undefined);
      const health = await Promise.race([Promise.all([engine.position(namespace), engine.health(namespace)]).then(([, found]) => found), late]);
      if (health === undefined) return notReady(`The store did not answer within ${deadlineMs} ms.`, "timeout");
      return { ready: true, facts: { status: "ok", version, ...shown(health), answered_ms: clock.nowMs() - beganMs } };
    } catch (error) {
      return isHoldfastError(error) ? notReady(error.message, error.code) : notReady("Internal error in the store; the log has the details.", "internal");
    } finally {
      done.abort();
    }
  };
  const notReady = (problem: string, code: string): Readiness => ({ ready: false, facts: { status: "error", version, engine: engine.name, code, problem } });

  return (namespace) => {
    const known = looks.get(namespace);
    const atMs = clock.nowMs();
    if (known !== undefined && atMs - known.atMs < freshMs) return known.readiness;
    const readiness = look(namespace);
    if (looks.size >= namespacesMax) looks.clear();
    looks.set(namespace, { atMs, readiness });
    return readiness;
  };
}

const shown = ({ engine, durability, warnings }: EngineHealth): Readiness["facts"] => ({ engine, durability, warnings: warnings.map(({ about, says }) => ({ about, says })) });
