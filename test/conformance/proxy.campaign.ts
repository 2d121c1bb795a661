import { expect, test } from "vitest";
import { startHttpServer } from "../support/http-server.ts";
import { openHttpFront } from "../support/proxy/http-front.ts";
import { conformanceFixtures } from "./fixtures.ts";
import { runSuite } from "./run-suite.ts";

/**
 * Scenarios about HTTP itself: the status of refusals, and what Host and the protocol's headers must be. The proxy has no such side: here it is the test's own, which
 * answers everything with 200.
 */
const ofTransport: Readonly<Record<string, readonly string[]>> = { "2025-11-25": ["dns-rebinding-protection"], "2026-07-28": ["server-stateless", "dns-rebinding-protection"] };

test.each([
  { requirements: "2025-11-25", scenarios: 30 },
  { requirements: "2026-07-28", scenarios: 37 },
])("what the official suite requires of $requirements is met through the proxy", async ({ requirements, scenarios }) => {
  await using server = await startHttpServer({ mcp: { fixtures: conformanceFixtures } });
  await using front = await openHttpFront(`${server.url}/mcp`);
  const { scored, output } = await runSuite(front, requirements);
  const failed = [...scored].filter(([, isMet]) => !isMet).map(([name]) => name);
  process.stdout.write(`conformance ${requirements} through the proxy: ${scored.size - failed.length}/${scored.size}\n`);
  expect(scored.size).toBe(scenarios);
  expect(failed, output).toEqual(ofTransport[requirements]);
});
