import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { Agent, request } from "node:http";
import { envelope } from "./line-client.ts";
import { getArguments, keyOf, keysInUse, setArguments } from "./workload.ts";

/** State shared by the clients of a soak. */
export interface SoakClient {
  readonly url: string;
  readonly isOver: () => boolean;
  readonly onAnswer: (what: string, ms: number | undefined) => void;
  readonly onProblem: (problem: string) => void;
}

type Structured = Readonly<Record<string, unknown>>;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
/** Agents think between calls; without the pause, a few clients would be the load of a fleet. */
const think = (): Promise<void> => pause(Math.random() * 40);
const between = (min: number, max: number): number => min + Math.floor(Math.random() * (max - min + 1));

/** One agent: its own connections, one call after the other. */
class Caller {
  readonly #client: SoakClient;
  readonly #agent = new Agent({ keepAlive: true });
  #nextId = 1;

  constructor(client: SoakClient) {
    this.#client = client;
  }

  get isOver(): boolean {
    return this.#client.isOver();
  }

  /** The structured answer; if there was none, records a problem and returns undefined. `waits`: the call's time does not measure the server. */
  async call(tool: string, args: object, { waits = false } = {}): Promise<Structured | undefined> {
    const startedMs = performance.now();
    const answer = await this.post("tools/call", { name: tool, arguments: args }, tool);
    const result = answer?.result as { readonly isError?: boolean; readonly structuredContent?: Structured } | undefined;
    if (result === undefined || result.isError === true) {
      this.#client.onProblem(`${tool}: ${JSON.stringify(answer).slice(0, 500)}`);
      return undefined;
    }
    this.#client.onAnswer(tool, waits ? undefined : performance.now() - startedMs);
    return result.structuredContent;
  }

  async post(method: string, params: object, name?: string): Promise<Structured | undefined> {
    const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": method, ...(name === undefined ? {} : { "mcp-name": name }) };
    return this.send({ jsonrpc: "2.0", id: this.#nextId++, method, params: { ...params, _meta: envelope } }, headers);
  }

  /** Sends any message, in any era. */
  async send(message: object, headers: OutgoingHttpHeaders): Promise<Structured | undefined> {
    try {
      const response = await this.open("POST", "/mcp", { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers }, JSON.stringify(message));
      const text = await textOf(response);
      if ((response.statusCode as number) >= 300) throw new Error(`status ${response.statusCode}: ${text.slice(0, 300)}`);
      return text === "" ? {} : (JSON.parse(text) as Structured);
    } catch (error) {
      this.#client.onProblem(`${JSON.stringify(message).slice(0, 120)}: ${String(error)}`);
      return undefined;
    }
  }

  open(method: string, path: string, headers: OutgoingHttpHeaders = {}, body?: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const asked = request(`${this.#client.url}${path}`, {
        method,
        agent: this.#agent,
        headers: { ...headers, ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }) },
      });
      asked.once("response", resolve).once("error", reject).end(body);
    });
  }

  /** A page of text, as a monitor reads it. */
  async page(path: string): Promise<void> {
    const startedMs = performance.now();
    try {
      const response = await this.open("GET", path);
      const text = await textOf(response);
      if (response.statusCode !== 200 || text === "") throw new Error(`status ${response.statusCode}`);
      this.#client.onAnswer(path, performance.now() - startedMs);
    } catch (error) {
      this.#client.onProblem(`${path}: ${String(error)}`);
    }
  }

  problem(text: string): void {
    this.#client.onProblem(text);
  }

  close(): void {
    this.#agent.destroy();
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  return text;
}

/** Runs until the soak is over. */
const living =
  (act: (caller: Caller, n: number) => Promise<void>) =>
  async (client: SoakClient, n: number): Promise<void> => {
    const caller = new Caller(client);
    while (!caller.isOver) {
      await act(caller, n);
      await think();
    }
    caller.close();
  };

const notes = ["The retry queue loses its last item when it is flushed", "Deploys need the lease called deploy", "Runs are resumed from the last acknowledged step"];

const everyday: readonly ((caller: Caller, n: number) => Promise<unknown>)[] = [
  (caller) => caller.call("state_get", getArguments(between(1, keysInUse))),
  (caller) => caller.call("state_get", getArguments(between(1, keysInUse))),
  (caller) => caller.call("state_set", setArguments(between(1, keysInUse))),
  (caller) => caller.call("state_set", { key: `brief/${between(1, 50)}`, value: "gone soon", ttl_seconds: between(1, 5) }),
  (caller) => caller.call("state_list", { prefix: `agents/worker-${between(0, 9)}/`, limit: 20 }),
  (caller) => caller.call("state_commit", { writes: [1, 2, 3].map((i) => ({ key: `group/${between(1, 30)}/${i}`, value: i })) }),
  async (caller, n) => {
    const resource_id = `resource-${between(1, 20)}`;
    const taken = await caller.call("lease_acquire", { resource_id, holder_id: `agent-${n}`, ttl_seconds: 5 });
    if (taken?.acquired === true) await caller.call("lease_release", { resource_id, holder_id: `agent-${n}`, token: taken.token });
  },
  (caller, n) => caller.call("session_save", { session_id: `session-${n}`, context: { turn: between(1, 1_000), notes } }),
  (caller) => caller.call("save_knowledge", { id: `note-${between(1, 200)}`, content: notes[between(0, 2)], keywords: ["queue"] }),
  (caller) => caller.call("recall_knowledge", { query: "what does the retry queue lose?", limit: 5 }),
  (caller) => caller.call("history_log", { n: 20 }),
  (caller) => caller.post("tools/list", {}),
];

/** A run from its creation to its end. */
async function carryThrough(caller: Caller, n: number): Promise<void> {
  const created = await caller.call("workflow_create", { name: `soak-${n}`, tags: { worker: String(n) } });
  const run_id = created?.run_id;
  if (run_id === undefined) return;
  const claim = await caller.call("workflow_claim", { run_id, agent_id: `worker-${n}`, ttl_seconds: 60 });
  if (claim?.claimed !== true) return caller.problem(`Its own run could not be claimed: ${JSON.stringify(claim)}`);
  const holder = { run_id, agent_id: `worker-${n}`, token: claim.token };
  for (const step of [1, 2, 3]) await caller.call("workflow_checkpoint", { ...holder, step, output: { step } });
  await caller.call("workflow_finish", { ...holder, status: "done", result: "fine" });
}

/** Waits for a change that does not come. */
async function wait(caller: Caller): Promise<void> {
  await caller.call("state_get", { key: keyOf(between(1, keysInUse)), wait_for_version_above: 1_000_000_000, wait_seconds: between(1, 3) }, { waits: true });
}

/** Listens for a while in the era without sessions, then closes the connection. */
async function listen(caller: Caller): Promise<void> {
  const message = {
    jsonrpc: "2.0",
    id: "sub",
    method: "subscriptions/listen",
    params: { notifications: { resourceSubscriptions: [1, 2, 3].map((i) => `holdfast://state/${encodeURIComponent(keyOf(i))}`) }, _meta: envelope },
  };
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28", "mcp-method": message.method };
  await leaveLater(caller, () => caller.open("POST", "/mcp", headers, JSON.stringify(message)));
}

/** A session of the earlier era: initialized, subscribed, listened to, ended. */
async function holdSession(caller: Caller): Promise<void> {
  const accept = "application/json, text/event-stream";
  const greeting = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "soak", version: "1" } } };
  const response = await caller.open("POST", "/mcp", { "content-type": "application/json", accept }, JSON.stringify(greeting));
  await textOf(response);
  const id = response.headers["mcp-session-id"];
  if (typeof id !== "string") return caller.problem(`No session: status ${response.statusCode}`);
  const headers = { "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" };
  await caller.send({ jsonrpc: "2.0", method: "notifications/initialized" }, headers);
  for (const i of [1, 2])
    await caller.send({ jsonrpc: "2.0", id: i + 1, method: "resources/subscribe", params: { uri: `holdfast://state/${encodeURIComponent(keyOf(i))}` } }, headers);
  await leaveLater(caller, () => caller.open("GET", "/mcp", { accept: "text/event-stream", ...headers }));
  const ended = await caller.open("DELETE", "/mcp", headers);
  await textOf(ended);
  if (ended.statusCode !== 200) caller.problem(`A session could not be ended: status ${ended.statusCode}`);
}

async function leaveLater(caller: Caller, open: () => Promise<IncomingMessage>): Promise<void> {
  try {
    const stream = await open();
    stream.on("error", () => {}).resume();
    if (stream.statusCode !== 200) caller.problem(`A stream was refused: status ${stream.statusCode}`);
    await pause(between(200, 3_000));
    stream.destroy();
  } catch (error) {
    caller.problem(`A stream failed: ${String(error)}`);
  }
}

/** 64 in all. */
export const clientKinds: readonly { readonly count: number; readonly live: (client: SoakClient, n: number) => Promise<void> }[] = [
  { count: 40, live: living(async (caller, n) => void (await everyday[between(0, everyday.length - 1)]?.(caller, n))) },
  { count: 8, live: living(carryThrough) },
  { count: 5, live: living(wait) },
  { count: 5, live: living(listen) },
  { count: 4, live: living(holdSession) },
  { count: 2, live: living(async (caller) => caller.page(["/livez", "/health", "/metrics"][between(0, 2)] as string)) },
];
