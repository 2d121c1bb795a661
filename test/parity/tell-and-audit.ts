import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import type { WorkerCommand } from "../../src/verify/worker-process.ts";
import { auditServers } from "../support/kill-server/audit.ts";
import { RoundRobin } from "./round-robin.ts";
import { tellThroughTwoServers } from "./two-servers-story.ts";

/** The story through two servers, one of which is killed every so many changes, then the audit of what they left, by a connection of its own. */
export async function tellAndAudit(url: string, command: WorkerCommand, { killEvery }: { readonly killEvery: number }) {
  const two = new RoundRobin(command, killEvery);
  try {
    await tellThroughTwoServers(two);
  } finally {
    await two[Symbol.asyncDispose]();
  }
  await using engine = await openEngine(url);
  const { violations, figures } = await auditServers(openNamespaceStore(engine, "default", systemClock), two.journal.calls);
  return { violations, figures: { ...figures, calls: two.journal.calls.length, kills: two.kills, cut: two.cuts } };
}
