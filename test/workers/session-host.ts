import { HoldfastSessionStore } from "../../src/claude.ts";
import type { Holdfast } from "../../src/index.ts";
import { connectHoldfast } from "../../src/index.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openWorkerPort } from "../support/worker-port.ts";

/** A host in the middle of many turns: it appends to each of its sessions until the store refuses it for good. */
export interface SessionHostArguments {
  readonly url: string;
  readonly projectKey: string;
  readonly sessionIds: readonly string[];
  readonly leaseMs: number;
  /** `unfenced`: a store that checks neither lease nor version nor who worked last. */
  readonly fault?: "unfenced";
}

const port = openWorkerPort();
const { url, projectKey, sessionIds, leaseMs, fault } = await port.next<SessionHostArguments>();
const remote = await connectHoldfast(url, { namespace: "hosts" });
const store = new HoldfastSessionStore(fault === undefined ? remote : unfenced(remote), { host: "blue", leaseMs });

await Promise.all(sessionIds.map(turn));
port.send({ is: "end" });

async function turn(sessionId: string): Promise<void> {
  for (let n = 0; ; n += 1) {
    try {
      await store.append({ projectKey, sessionId }, [{ type: "x", by: "blue", n }]);
      port.send({ is: "stored", sessionId, n });
    } catch (error) {
      const { code } = error as { readonly code?: string };
      port.send({ is: "refused", sessionId, code });
      // Refused while the other host still works: the SDK would repeat the call as well.
      if (code !== "claim_held") return;
      await systemClock.sleep(20);
    }
    // The unfenced store is never refused.
    if (fault !== undefined && n === 400) return;
    await systemClock.sleep(5);
  }
}

function unfenced(holdfast: Holdfast): Holdfast {
  const { state, leases } = holdfast;
  return {
    ...holdfast,
    state: {
      ...state,
      set: (key, value) => state.set(key, value),
      commit: ({ writes }, options) => state.commit({ writes }, options),
      get: async (key, past) => {
        const entry = await state.get(key, past);
        return entry !== undefined && key.startsWith("claude/owner/") ? { ...entry, value: { holder: store.holder } } : entry;
      },
    },
    leases: {
      ...leases,
      acquire: async (resource, options) => ({ ok: true, resource, holder: options.agent ?? "", token: 1, expiresAtMs: 0, renewed: false }),
      renew: async (_resource, { token }) => ({ ok: true, token: token ?? 1, expiresAtMs: 0 }),
    },
  };
}
