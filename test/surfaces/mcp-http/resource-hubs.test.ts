import { expect, onTestFinished, test } from "vitest";
import { MemoryEngine } from "../../../src/engines/memory/memory-engine.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { silentLog } from "../../../src/kernel/log.ts";
import { openNamespaceStore } from "../../../src/store/namespace-store.ts";
import type { UpdateListener } from "../../../src/surfaces/mcp/http/resource-hubs.ts";
import { ResourceHubs, urisPerCallerMax } from "../../../src/surfaces/mcp/http/resource-hubs.ts";
import { subscribedUrisMax } from "../../../src/surfaces/mcp/subscriptions.ts";

test("one caller's streams leave room for others, and closed ones free their place", async () => {
  await using engine = new MemoryEngine(systemClock);
  const base = { store: openNamespaceStore(engine, "test", systemClock), clock: systemClock };
  const hubs = new ResourceHubs(silentLog);
  onTestFinished(() => hubs.close());
  const listener = (caller: string): UpdateListener => ({ caller, onUpdate: () => {} });
  const uris = Array.from({ length: subscribedUrisMax }, (_, i) => `holdfast://state/${i}`);
  const streams = Array.from({ length: urisPerCallerMax / subscribedUrisMax }, () => listener("greedy"));
  for (const stream of streams) await hubs.add(base, stream, uris);

  const late = listener("greedy");
  await expect(hubs.add(base, late, ["holdfast://state/a"])).rejects.toMatchObject({ code: "limit_exceeded" });
  await hubs.add(base, listener("modest"), uris);

  hubs.remove(base, streams[0] as UpdateListener, uris.slice(0, 1));
  await hubs.add(base, late, ["holdfast://state/a"]);
  await expect(hubs.add(base, late, ["holdfast://state/b"])).rejects.toMatchObject({ code: "limit_exceeded" });
  hubs.remove(base, streams[1] as UpdateListener);
  await hubs.add(base, late, uris);
  await expect(hubs.add(base, listener("greedy"), uris)).rejects.toMatchObject({ code: "limit_exceeded" });
});
