import type { Log } from "../../kernel/log.ts";
import type { Authenticate } from "./authenticate.ts";
import type { Exchange } from "./exchange.ts";
import { Refusal } from "./refusal.ts";

/** The interval. When a credential ends, open exchanges are closed within this time plus the time that a lookup is trusted. */
const lookAgainMs = 2_000;

export interface RecheckOptions {
  readonly authenticate: Authenticate;
  /** All exchanges in progress. */
  readonly exchanges: Iterable<Exchange>;
  readonly log: Log;
}

/**
 * Periodically checks the credentials of requests in progress: streams stay open for days, and a call may wait for a minute.
 * Callers whose credential has ended get nothing more. Returns a function that stops the checks.
 */
export function recheckCredentials(options: RecheckOptions): () => void {
  const timer = setInterval(() => void lookAgain(options), lookAgainMs);
  timer.unref();
  return () => clearInterval(timer);
}

async function lookAgain({ authenticate, exchanges, log }: RecheckOptions): Promise<void> {
  const lasting = [...exchanges].filter(({ principal, startedMs }) => principal !== undefined && performance.now() - startedMs >= lookAgainMs);
  await Promise.all(
    lasting.map(async (exchange) => {
      const { request, response, principal, route } = exchange;
      const answer = await authenticate(request);
      // If it cannot be checked right now, the caller keeps its access until the next check.
      if (response.closed || !(answer instanceof Refusal) || (answer.code !== "unauthenticated" && answer.code !== "forbidden")) return;
      log("info", "credential_ended", { route, principal: principal?.name });
      exchange.abort();
      response.destroy();
    }),
  );
}
