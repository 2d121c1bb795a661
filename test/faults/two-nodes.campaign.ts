import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { openEngine } from "../../src/engines/open-store.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { openNamespaceStore } from "../../src/store/namespace-store.ts";
import { seededRandom } from "../../src/verify/random.ts";
import { openBridge } from "../support/bridge-connection.ts";
import { printMetrics } from "../support/campaign.ts";
import { buildExecutable, startExecutable } from "../support/cli-process.ts";
import { engineNamed } from "../support/engines.ts";
import { mcpHeaders, toolCall } from "../support/http-messages.ts";
import type { HttpProcess } from "../support/http-process.ts";
import { startHttpProcess } from "../support/http-process.ts";
import { auditServers } from "../support/kill-server/audit.ts";
import type { ToolAnswer, ToolCaller } from "../support/kill-server/server-process.ts";
import { Cut } from "../support/kill-server/server-process.ts";
import type { RecordedCall } from "../support/kill-server/tool-journal.ts";
import { ToolJournal } from "../support/kill-server/tool-journal.ts";
import { putUnderLoad } from "../support/kill-server/tool-load.ts";
import type { Era, RawLines } from "../support/mcp-connection.ts";
import { eras, paramsFor, shakeHands } from "../support/mcp-connection.ts";
import { RoundRobinProxy } from "../support/round-robin-proxy.ts";
import { scaled } from "../support/scale.ts";
import { freePort } from "../support/servers/free-port.ts";

let built: Awaited<ReturnType<typeof buildExecutable>>;
beforeAll(async () => {
  built = await buildExecutable();
});
afterAll(() => built?.remove());

const mixedLanes = 10;
const counters = 4;
/** Each node is killed so often. */
const killsEach = scaled(1);
const workMs = 1_500;
const downMs = 700;

/** A caller that knows one address; whatever keeps an answer from coming is a cut to it. */
const openCaller = (url: string, token: string): ToolCaller => ({
  async call(name, args, requestKey) {
    const message = toolCall(name, args);
    if (requestKey !== undefined) Object.assign(message.params._meta, { "holdfast/request-key": requestKey });
    try {
      const answer = await fetch(`${url}/mcp`, {
        method: "POST",
        headers: { ...mcpHeaders("tools/call", name), authorization: `Bearer ${token}` },
        body: JSON.stringify(message),
      });
      if (!answer.ok) throw new Cut(`Status ${answer.status}: ${await answer.text()}`);
      const { isError = false, structuredContent } = ((await answer.json()) as { readonly result: { readonly isError?: boolean; readonly structuredContent: unknown } }).result;
      return { isError, structured: structuredContent, text: JSON.stringify(structuredContent) };
    } catch (error) {
      throw error instanceof Cut ? error : new Cut(String((error as Error).cause ?? error));
    }
  },
});

/** Asks again, with the same key, until there is an answer. */
async function untilAnswered(caller: ToolCaller, journal: ToolJournal, recorded: RecordedCall): Promise<ToolAnswer> {
  for (;;) {
    try {
      return await journal.send(caller, recorded);
    } catch (error) {
      if (!(error instanceof Cut)) throw error;
      journal.unanswered.splice(journal.unanswered.indexOf(recorded), 1);
      await systemClock.sleep(20);
    }
  }
}

/** Raises one counter from what it has just read, as long as it is wanted; tells whenever it was told that it had. */
async function count(caller: ToolCaller, journal: ToolJournal, isWanted: () => boolean, onRaised: () => void): Promise<void> {
  while (isWanted()) {
    const before = await caller.call("state_get", { key: "tally" }).catch(() => undefined);
    if (before === undefined) continue;
    const label = journal.newLabel();
    const args = { key: "tally", value: (before.structured.value ?? 0) + 1, expected_version: before.structured.version ?? 0, agent_id: label };
    const recorded: RecordedCall = { label, tool: "state_set", args, requestKey: `key of ${label}`, answers: [], cuts: 0, sent: 0 };
    journal.calls.push(recorded);
    if ((await untilAnswered(caller, journal, recorded)).structured.ok === true) onRaised();
  }
}

async function subscribe(raw: RawLines, era: Era, uri: string): Promise<void> {
  await shakeHands(raw, era);
  if (era === "handshake") return void (await raw.request("resources/subscribe", { uri }));
  raw.send({ jsonrpc: "2.0", id: "sub", method: "subscriptions/listen", params: paramsFor(era, { notifications: { resourceSubscriptions: [uri] } }) });
  await raw.next(({ method }) => method === "notifications/subscriptions/acknowledged");
}

const updatesIn = ({ lines }: RawLines): number => lines.filter((line) => line.includes("notifications/resources/updated")).length;

test("two nodes behind a round-robin balancer, each killed in the middle and started again: nothing acknowledged is lost, nothing is done twice, and listeners keep receiving (G1, G3, G4, G5, G7, G9, G10, G11), on PostgreSQL", async () => {
  const store = await engineNamed("PostgreSQL").freshUrl();
  const startedMs = performance.now();
  const made = await startExecutable(built.main, ["token", "create", "--name", "fleet", "--role", "write", "--namespace", "default", "--json"], { env: environment(store) })
    .finished;
  const { secret: token } = JSON.parse(made.stdout) as { readonly secret: string };
  const ports = [await freePort(), await freePort()];
  const start = (node: number): Promise<HttpProcess> => startHttpProcess(built.main, ["--port", String(ports[node]), "--auth", "token"], { HOLDFAST_STORE: store });
  const nodes = await Promise.all(ports.map((_, node) => start(node)));
  onTestFinished(async () => void (await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()))));
  await using balancer = await RoundRobinProxy.open(ports);
  await using inOneEra = openBridge(balancer.url, { token });
  await using inTheOther = openBridge(balancer.url, { token });
  const watchers = [inOneEra, inTheOther];
  await Promise.all(watchers.map((raw, i) => subscribe(raw, eras[i] as Era, "holdfast://state/tally")));

  const journal = new ToolJournal();
  const random = seededRandom(20_261_115);
  const caller = openCaller(balancer.url, token);
  let isOver = false;
  const untilOver: ToolCaller = { call: (...args) => (isOver ? Promise.reject(new Cut("The load is over.")) : caller.call(...args)) };
  const mixed = Array.from({ length: mixedLanes }, async () => {
    while (!isOver) await putUnderLoad(untilOver, { journal, random }, 1);
  });
  let raised = 0;
  const onRaised = (): void => {
    raised += 1;
  };
  const counting = Array.from({ length: counters }, () => count(caller, journal, () => !isOver, onRaised));
  /** For a while, and until something was done in it, however slow the machine is. */
  const work = async (): Promise<void> => {
    const atLeast = raised + 10;
    await systemClock.sleep(workMs);
    while (raised < atLeast) await systemClock.sleep(10);
  };

  // A node that was killed while no call was on its way shows nothing: again, until some were cut off.
  for (let kill = 0; kill < 2 * killsEach || balancer.figures.cut === 0; kill += 1) {
    const node = kill % 2;
    await work();
    await nodes[node]?.stop("SIGKILL");
    await systemClock.sleep(downMs);
    nodes[node] = await start(node);
  }
  await work();
  isOver = true;
  await Promise.all([...mixed, ...counting]);

  // Every request with a key is asked once more, whether it was answered or not: what is told now must be what was told then.
  for (const recorded of journal.unanswered.splice(0)) await untilAnswered(caller, journal, recorded);
  for (const recorded of journal.calls.filter(({ requestKey, answers }) => requestKey !== undefined && answers[0]?.isError === false))
    await untilAnswered(caller, journal, recorded);
  const tally = (await caller.call("state_get", { key: "tally" })).structured;
  expect(tally).toMatchObject({ value: raised, version: raised });

  // Both watchers have come over both kills: what is written now reaches them.
  while (watchers.some((raw) => updatesIn(raw) === 0)) await systemClock.sleep(5);
  const heard = watchers.map(updatesIn);
  await caller.call("state_set", { key: "tally", value: "the end", agent_id: "last" });
  journal.calls.push({ label: "last", tool: "state_set", args: { key: "tally", value: "the end", agent_id: "last" }, answers: [], cuts: 1, sent: 1 });
  await Promise.all(
    watchers.map(async (raw, i) => {
      while (updatesIn(raw) === heard[i]) await systemClock.sleep(5);
    }),
  );

  await using engine = await openEngine(store);
  const { violations, figures } = await auditServers(openNamespaceStore(engine, "default", systemClock), journal.calls);
  const { passed, passedOver, cut } = balancer.figures;
  printMetrics(
    "two nodes on PostgreSQL",
    { figures: { ...figures, calls: journal.calls.length, raised, cut, passed_over: passedOver, node_one: passed[0] ?? 0, node_two: passed[1] ?? 0 }, violations },
    startedMs,
  );
  expect(violations).toEqual([]);
  // Without work on both nodes nothing was shown.
  expect(Math.min(...passed)).toBeGreaterThan(20);
  for (const node of nodes) expect(await node.stop()).toMatchObject({ code: 0 });
});

const environment = (store: string) => ({ PATH: process.env.PATH, HOLDFAST_STORE: store });
