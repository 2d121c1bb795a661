import fc from "fast-check";
import { envelope } from "./mcp-connection.ts";

/** Envelopes of the stateless era, each wrong in one way. */
export const brokenEnvelopes: readonly Record<string, unknown>[] = [
  { ...envelope, "io.modelcontextprotocol/protocolVersion": "2031-01-01" },
  { ...envelope, "io.modelcontextprotocol/protocolVersion": 5 },
  { ...envelope, "io.modelcontextprotocol/logLevel": "loud" },
  ...[5, { name: 5, version: "1" }, { name: "n" }, { name: "n", version: "1", icons: "x" }, { name: "n", version: "1", title: 5 }].map((client) => ({
    ...envelope,
    "io.modelcontextprotocol/clientInfo": client,
  })),
  ...[
    undefined,
    5,
    [],
    { roots: 5 },
    { roots: { listChanged: "yes" } },
    { sampling: { tools: 5 } },
    { sampling: { context: [] } },
    { elicitation: { form: 5 } },
    { elicitation: { form: { applyDefaults: "x" } } },
    { elicitation: { url: 5 } },
    { experimental: { x: 5 } },
    { extensions: { x: [] } },
  ].map((capabilities) => ({ ...envelope, "io.modelcontextprotocol/clientCapabilities": capabilities })),
];

const oddJson = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    5,
    "text",
    [],
    {},
    [1],
    { listChanged: true },
    { listChanged: "x" },
    { form: { applyDefaults: "x" } },
    { form: {}, url: 5 },
    { tools: 5 },
    { named: 5 },
    { named: { deep: [1] } },
  ),
  fc.jsonValue({ maxDepth: 2 }),
);
/** One member replaced by something odd: more at once and nothing would get past the first check. */
const withOdd = (plain: Record<string, unknown>, members: Record<string, fc.Arbitrary<unknown>>) =>
  fc.oneof(...Object.entries(members).map(([name, odd]) => odd.map((value) => ({ ...plain, [name]: value }))));
const oddCapabilities = withOdd({}, { roots: oddJson, sampling: oddJson, elicitation: oddJson, experimental: oddJson, extensions: oddJson, tasks: oddJson, other: oddJson });
const oddImplementation = withOdd({ name: "n", version: "1" }, { name: oddJson, version: oddJson, title: oddJson, icons: oddJson, websiteUrl: oddJson, odd: oddJson });
const oddMeta = withOdd(envelope, {
  "io.modelcontextprotocol/protocolVersion": fc.constantFrom<unknown>("2025-11-25", "2030-01-01", 5),
  "io.modelcontextprotocol/clientCapabilities": fc.oneof(oddJson, oddCapabilities, oddCapabilities),
  "io.modelcontextprotocol/clientInfo": fc.oneof(oddJson, oddImplementation),
  "io.modelcontextprotocol/logLevel": fc.constantFrom<unknown>("info", "loud", 5),
  progressToken: fc.constantFrom<unknown>(1, "x"),
  "holdfast/request-key": fc.oneof(fc.constant("key"), oddJson),
});
const meta = fc.oneof(fc.constantFrom(undefined, envelope), oddMeta);
const callParams = fc.oneof(
  fc.constant({ name: "state_get", arguments: { key: "k" } }),
  withOdd(
    { name: "state_get", arguments: { key: "k" } },
    { name: fc.oneof(fc.constantFrom("nothing", "__proto__"), oddJson), arguments: oddJson, task: oddJson, requestState: oddJson, inputResponses: oddJson, extra: oddJson },
  ),
);
const helloParams = withOdd(
  { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "n", version: "1" } },
  { protocolVersion: fc.oneof(fc.constant("2025-06-18"), oddJson), capabilities: fc.oneof(oddJson, oddCapabilities), clientInfo: fc.oneof(oddJson, oddImplementation) },
);
const bareParams = fc.oneof(fc.constant({}), withOdd({}, { cursor: oddJson, extra: oddJson }));
const asking = (method: string, params: fc.Arbitrary<Record<string, unknown>>) =>
  fc.tuple(params, meta).map(([own, _meta]) => ({ method, params: _meta === undefined ? own : { ...own, _meta } }));
/** Requests in every shape but the plain ones, some of them plain. */
export const oddRequest = fc.oneof(
  asking("tools/call", callParams),
  asking("initialize", helloParams),
  ...["tools/list", "server/discover", "ping", "prompts/list", "nonsense"].map((method) => asking(method, bareParams)),
);
