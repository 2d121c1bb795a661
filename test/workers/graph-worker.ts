import { AsyncLocalStorage } from "node:async_hooks";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { openHoldfast } from "../../src/index.ts";
import { HoldfastSaver } from "../../src/langgraph.ts";
import { openWorkerPort } from "../support/worker-port.ts";

/** A worker that runs graphs of LangGraph with one of several savers. It can be held inside a node or inside a write of its saver, to be stopped there. */
export interface GraphWorkerArguments {
  readonly name: string;
  /** A module beside LangGraph and the savers that come with it. */
  readonly beside: string;
  readonly saver: "holdfast" | "sqlite" | "postgres";
  readonly url: string;
}

export type GraphCommand =
  /** Runs a new graph, or continues one, on each thread at once. Held inside, it goes on after `go`. */
  | { readonly op: "run"; readonly threads: readonly string[]; readonly continues?: boolean; readonly hold?: "node" | "write" }
  | { readonly op: "go" }
  /** Runs a graph of many steps over a long value that does not change. */
  | { readonly op: "grow"; readonly thread: string; readonly text: string; readonly steps: number }
  | { readonly op: "read"; readonly thread: string }
  /** Reads the latest checkpoint many times and, in turn, a file with the same text. */
  | { readonly op: "resume"; readonly thread: string; readonly file: string; readonly times: number };

export type GraphEvent =
  /** Its store is open. */
  | { readonly is: "ready" }
  | { readonly is: "inside"; readonly thread: string }
  | { readonly is: "ended"; readonly thread: string; readonly by?: readonly string[]; readonly error?: string; readonly code?: string }
  /** All that is stored of a thread: the names of the workers in its checkpoints, newest first, and in its writes. */
  | { readonly is: "stored"; readonly thread: string; readonly latest: readonly string[]; readonly all: readonly string[] }
  | { readonly is: "resumed"; readonly ms: readonly number[]; readonly floorMs: readonly number[] };

const port = openWorkerPort();
const { name, beside, saver: kind, url } = await port.next<GraphWorkerArguments>();
const { resolve } = createRequire(beside);
const load = (path: string) => import(pathToFileURL(resolve(path)).href);

const ttlMs = 3_000;
const saver = await openSaver();
const { Annotation, StateGraph } = await load("@langchain/langgraph");

/** What the graph that runs in this context does when it comes to the place where it is to be held. */
interface Hold {
  readonly place: "node" | "write" | undefined;
  hasWorked: boolean;
  /** Says that the run is held, once, and waits for the test. */
  wait(): Promise<void>;
}
const holds = new AsyncLocalStorage<Hold>();

async function reach(place: "node" | "write"): Promise<void> {
  const hold = holds.getStore();
  if (hold?.place === place && (place === "node" || hold.hasWorked)) await hold.wait();
}

// Every saver serializes inside its put and its putWrites, before it writes.
const { serde } = saver;
saver.serde = {
  async dumpsTyped(value) {
    await reach("write");
    return serde.dumpsTyped(value);
  },
  loadsTyped: (type, data) => serde.loadsTyped(type, data),
};

const relay = new StateGraph(Annotation.Root({ by: Annotation({ reducer: (all: string[], more: string[]) => [...all, ...more], default: () => [] }) }))
  .addNode("work", async () => {
    await reach("node");
    const hold = holds.getStore();
    if (hold !== undefined) hold.hasWorked = true;
    return { by: [`${name} worked`] };
  })
  .addNode("seal", () => ({ by: [`${name} sealed`] }))
  .addEdge("__start__", "work")
  .addEdge("work", "seal")
  .compile({ checkpointer: saver });

const growing = new StateGraph(Annotation.Root({ text: Annotation(), n: Annotation(), steps: Annotation() }))
  .addNode("step", ({ n }: { readonly n: number }) => ({ n: n + 1 }))
  .addEdge("__start__", "step")
  .addConditionalEdges("step", ({ n, steps }: { readonly n: number; readonly steps: number }) => (n < steps ? "step" : "__end__"))
  .compile({ checkpointer: saver });

port.send({ is: "ready" } satisfies GraphEvent);
for (;;) {
  const command = await port.next<GraphCommand>();
  if (command.op === "run") await runAll(command);
  else if (command.op === "grow")
    await growing
      .invoke({ text: command.text, n: 0, steps: command.steps }, { configurable: { thread_id: command.thread }, recursionLimit: command.steps * 2 })
      .then(() => port.send({ is: "ended", thread: command.thread }));
  else if (command.op === "read") port.send(await readAll(command.thread));
  else if (command.op === "resume") port.send(await timeResume(command.thread, command.file, command.times));
}

async function runAll({ threads, continues = false, hold: place }: Extract<GraphCommand, { op: "run" }>): Promise<void> {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const runs = threads.map(async (thread) => {
    let isHeld = false;
    const hold: Hold = {
      place,
      hasWorked: false,
      wait: () => {
        if (!isHeld) port.send({ is: "inside", thread } satisfies GraphEvent);
        isHeld = true;
        return opened;
      },
    };
    // Without the signal of its claim, which would stop the graph first: the store alone has to refuse what it writes. "sync": a step is stored before the next one begins.
    const invoke = () => relay.invoke(continues ? null : { by: [] }, { configurable: { thread_id: thread }, durability: "sync" });
    const work = () => holds.run(hold, invoke);
    try {
      const result = saver instanceof HoldfastSaver ? await saver.claimThread(thread, { ttlMs, waitMs: 120_000 }, work) : { ok: true as const, value: await work() };
      port.send({ is: "ended", thread, ...(result.ok ? { by: result.value.by } : { error: `held by ${result.heldBy}` }) } satisfies GraphEvent);
    } catch (error) {
      const { message, code } = error as { readonly message: string; readonly code?: string };
      port.send({ is: "ended", thread, error: message, code } satisfies GraphEvent);
    }
  });
  if (place !== undefined) await port.next<GraphCommand>();
  open();
  await Promise.all(runs);
}

async function readAll(thread: string): Promise<GraphEvent> {
  const config = { configurable: { thread_id: thread, checkpoint_ns: "" } };
  const byOf = ({ checkpoint }: CheckpointTuple): readonly string[] => (checkpoint.channel_values.by as readonly string[] | undefined) ?? [];
  const latest = await saver.getTuple(config);
  const all: string[] = [];
  for await (const { config: own } of saver.list(config)) {
    // The SQLite saver lists no pending writes.
    const tuple = await saver.getTuple(own);
    if (tuple !== undefined) all.push(...byOf(tuple), ...(tuple.pendingWrites ?? []).flatMap(([, , value]) => (Array.isArray(value) ? value.map(String) : [])));
  }
  return { is: "stored", thread, latest: latest === undefined ? [] : byOf(latest), all };
}

async function timeResume(thread: string, file: string, times: number): Promise<GraphEvent> {
  const [ms, floorMs]: [number[], number[]] = [[], []];
  for (let i = 0; i < times; i += 1) {
    const startMs = performance.now();
    const tuple = await saver.getTuple({ configurable: { thread_id: thread } });
    const readMs = performance.now();
    JSON.parse(await readFile(file, "utf8"));
    ms.push(readMs - startMs);
    floorMs.push(performance.now() - readMs);
    if (tuple === undefined) throw new Error(`${thread} has no checkpoint.`);
  }
  return { is: "resumed", ms, floorMs };
}

async function openSaver(): Promise<BaseCheckpointSaver> {
  if (kind === "holdfast") return new HoldfastSaver(await openHoldfast({ store: url, maintain: false }), { agent: name });
  if (kind === "postgres") {
    const { PostgresSaver } = await load("@langchain/langgraph-checkpoint-postgres");
    const stock = PostgresSaver.fromConnString(url);
    await stock.setup();
    return stock;
  }
  const { SqliteSaver } = await load("@langchain/langgraph-checkpoint-sqlite");
  const { DatabaseSync, enhance } = await import("@photostructure/sqlite");
  const database = enhance(new DatabaseSync(url));
  const prepare = database.prepare.bind(database);
  const withNulls =
    (method: (...values: readonly unknown[]) => unknown) =>
    (...values: readonly unknown[]) =>
      method(...values.map((value) => value ?? null));
  // The saver passes undefined where its own driver takes it for NULL.
  const openStatement = (sql: string) => {
    const statement = prepare(sql);
    const { run, get, all } = statement;
    return { run: withNulls(run.bind(statement)), get: withNulls(get.bind(statement)), all: withNulls(all.bind(statement)) };
  };
  return new SqliteSaver(Object.assign(database, { prepare: openStatement }));
}
