import type { Worker } from "../support/spawn-worker.ts";
import { spawnWorker } from "../support/spawn-worker.ts";
import type { GraphCommand, GraphEvent, GraphWorkerArguments } from "../workers/graph-worker.ts";

export interface TakeOverResult {
  readonly rounds: number;
  /** Threads in which something is stored that the replaced worker wrote after its successor had begun. */
  readonly staleWritesAccepted: number;
  /** Threads whose latest checkpoint is not the successor's. */
  readonly workLost: number;
  /** How the replaced worker's runs ended, and how often. */
  readonly firstEnded: Readonly<Record<string, number>>;
  readonly secondFinished: number;
}

/** Threads that are taken over at once: the time until a claim expires is waited for once for all of them. */
const batchMax = 20;

/** The clause that LangGraph's suite lacks: a worker is stopped inside a node or a write, another one continues its threads to their ends, and the first one wakes. */
export async function takeOver(how: Omit<GraphWorkerArguments, "name">, rounds: number, inside: "node" | "write"): Promise<TakeOverResult> {
  // One after the other: two PostgreSQL savers cannot set up their tables at once.
  const first = await startGraphWorker({ ...how, name: "first" });
  const second = await startGraphWorker({ ...how, name: "second" });
  const result = { rounds, staleWritesAccepted: 0, workLost: 0, firstEnded: {} as Record<string, number>, secondFinished: 0 };
  for (let done = 0; done < rounds; done += batchMax) {
    const threads = Array.from({ length: Math.min(batchMax, rounds - done) }, (_, i) => `${inside}-${done + i}`);
    const tell = (worker: Worker<GraphEvent>, command: GraphCommand): void => worker.send(command);
    tell(first, { op: "run", threads, hold: inside });
    await next(first, "inside", threads.length);
    first.pause();
    tell(second, { op: "run", threads, continues: true });
    const finished = await next(second, "ended", threads.length);
    result.secondFinished += finished.filter(({ by }) => by?.at(-1) === "second sealed").length;
    tell(first, { op: "go" });
    first.resume();
    for (const { error, code } of await next(first, "ended", threads.length)) {
      const end = error === undefined ? "finished as if it still owned the thread" : (code ?? error);
      result.firstEnded[end] = (result.firstEnded[end] ?? 0) + 1;
    }
    for (const thread of threads) {
      tell(second, { op: "read", thread });
      const [stored] = await next(second, "stored", 1);
      if (stored?.all.some((by) => by.startsWith("first"))) result.staleWritesAccepted += 1;
      if (stored?.latest.some((by) => by.startsWith("first")) || stored?.latest.length !== 2) result.workLost += 1;
    }
  }
  await Promise.all([first.kill(), second.kill()]);
  return result;
}

export async function startGraphWorker(how: GraphWorkerArguments): Promise<Worker<GraphEvent>> {
  const worker = spawnWorker<GraphEvent>("graph-worker", how);
  await next(worker, "ready", 1);
  return worker;
}

/** The next events of a worker, which must all be of this kind. */
export async function next<Kind extends GraphEvent["is"]>(worker: Worker<GraphEvent>, kind: Kind, count: number): Promise<Extract<GraphEvent, { readonly is: Kind }>[]> {
  const events: Extract<GraphEvent, { readonly is: Kind }>[] = [];
  while (events.length < count) {
    const event = await worker.next();
    if (event.is !== kind) throw new Error(`A worker should have said "${kind}" and said ${JSON.stringify(event)}`);
    events.push(event as Extract<GraphEvent, { readonly is: Kind }>);
  }
  return events;
}
