import { acquireLease, renewLease } from "../../src/domain/leases/leases.ts";
import { openSqliteEngine } from "../../src/engines/sqlite/sqlite-engine.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { isHoldfastError } from "../../src/kernel/errors.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { everything } from "../../src/store/ranges.ts";
import { openWorkerPort } from "../support/worker-port.ts";

/** Opens the store and does as it is told: take the lease, renew it, renew it without pause until the first refusal, name the keys. Tells what came of it, and when. */
const port = openWorkerPort();
const { path, holder } = await port.next<{ path: string; holder: string }>();
const lease = { resource: "deploy", holder, ttlMs: 60_000 };

async function tell(work: () => Promise<{ readonly ok: boolean }>): Promise<boolean> {
  const startedMs = Date.now();
  try {
    const { ok } = await work();
    port.send({ ok, startedMs, endedMs: Date.now() });
    return ok;
  } catch (error) {
    port.send({ ok: false, code: isHoldfastError(error) ? error.code : String(error), startedMs, endedMs: Date.now() });
    return false;
  }
}

let scope: Parameters<typeof acquireLease>[0] | undefined;
await tell(async () => {
  const engine = await openSqliteEngine({ path });
  scope = { store: openNamespaceStore(engine, "shared", systemClock), clock: systemClock, writer: holder };
  return { ok: true };
});
const opened = scope;
if (opened === undefined) process.exit(0);
for (;;) {
  const { act } = await port.next<{ act: "acquire" | "renew" | "keep" | "keys" }>();
  if (act === "acquire") await tell(() => acquireLease(opened, lease));
  else if (act === "renew") await tell(() => renewLease(opened, lease));
  else if (act === "keys") port.send({ ok: true, keys: (await opened.store.read(everything)).entries.map(({ key }) => key) });
  else while (await tell(() => renewLease(opened, lease)));
}
