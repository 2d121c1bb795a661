import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openLog } from "../../src/kernel/log.ts";
import { engineFacts } from "../../src/store/engine-facts.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { serveMcpStdio } from "../../src/surfaces/mcp/serve-stdio.ts";
import { catalog } from "../../src/tools/catalog.ts";
import type { Fault } from "../support/faulty-engine.ts";
import { faults } from "../support/faulty-engine.ts";

/** An MCP server over stdio whose engine has a fault: `faulty-server FAULT STORE`. */
const [, , fault, url = ""] = process.argv;
await using engine = faults[fault as Fault](await openEngine(url));
const context = {
  store: openNamespaceStore(engine, "default", systemClock),
  clock: systemClock,
  writer: "tester",
  server: { version: "0.0.0", startedAtMs: systemClock.nowMs(), claimTtlMs: 900_000, ...engineFacts(engine) },
};
await serveMcpStdio({ context, tools: catalog, log: openLog("warn"), stdin: process.stdin, stdout: process.stdout });
