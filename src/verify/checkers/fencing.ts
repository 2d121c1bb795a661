import type { Violation } from "./violation.ts";
import { Violations } from "./violation.ts";

/** In revision order: a lease was granted, renewed or ended, or a write with its token was accepted. */
export type FencingEvent =
  | { readonly revision: number; readonly what: "granted"; readonly holder: string; readonly token: number; readonly atMs: number; readonly expiresAtMs: number }
  | { readonly revision: number; readonly what: "renewed"; readonly token: number; readonly expiresAtMs: number }
  | { readonly revision: number; readonly what: "ended"; readonly token: number }
  | { readonly revision: number; readonly what: "write"; readonly by: string; readonly token: number; readonly atMs: number };

/** G7. There is at most one live holder, tokens always increase, and no write with a stale token is accepted. */
export function checkFencing(events: readonly FencingEvent[]): readonly Violation[] {
  const violations = new Violations("G7");
  let newest = 0;
  let held: { holder: string; token: number; expiresAtMs: number } | undefined;
  for (const event of events) {
    switch (event.what) {
      case "granted":
        if (event.token === newest) violations.add("token_reused", `Token ${event.token} was granted again, to ${event.holder}.`);
        if (event.token < newest) violations.add("token_went_back", `Token ${event.token} was granted to ${event.holder} after ${newest}.`);
        if (held !== undefined && event.atMs < held.expiresAtMs)
          violations.add("two_holders", `${event.holder} was granted the lease ${held.expiresAtMs - event.atMs} ms before ${held.holder}'s had run out.`);
        newest = Math.max(newest, event.token);
        held = { holder: event.holder, token: event.token, expiresAtMs: event.expiresAtMs };
        break;
      case "renewed":
        if (held?.token !== event.token) violations.add("stale_renewal_accepted", `Token ${event.token} was renewed; the current one was ${held?.token ?? "none"}.`);
        else held = { ...held, expiresAtMs: event.expiresAtMs };
        break;
      case "ended":
        if (held?.token === event.token) held = undefined;
        break;
      case "write":
        if (held?.token !== event.token)
          violations.add("stale_write_accepted", `${event.by} wrote with token ${event.token} at revision ${event.revision}; the current one was ${held?.token ?? "none"}.`);
        else if (event.atMs >= held.expiresAtMs)
          violations.add("lapsed_write_accepted", `${event.by} wrote ${event.atMs - held.expiresAtMs} ms after token ${event.token} had run out.`);
        break;
    }
  }
  return violations.list();
}
