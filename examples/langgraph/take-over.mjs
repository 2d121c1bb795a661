// Two workers and one thread: start this twice, and kill the first one in the middle. The second one waits until the claim has expired and continues
// with the step that was interrupted. If the first one was only stopped and wakes, the store refuses what it writes.
//
//   npm install @langchain/langgraph @langchain/core
//   node take-over.mjs sqlite:trips.db trip-7 ann
//   node take-over.mjs sqlite:trips.db trip-7 ben
import { setTimeout as delay } from "node:timers/promises";
import { Annotation, StateGraph } from "@langchain/langgraph";
import { openHoldfast } from "holdfast";
import { HoldfastSaver } from "holdfast/langgraph";

const [store = "sqlite:trips.db", thread = "trip-7", worker = `worker-${process.pid}`] = process.argv.slice(2);

const holdfast = await openHoldfast({ store });
const saver = new HoldfastSaver(holdfast, { agent: worker });

const step = (name) => async () => {
  console.log(`${worker}: ${name}`);
  await delay(1_000); // Here a model or a tool would be called.
  return { done: [`${name} by ${worker}`] };
};
const graph = new StateGraph(Annotation.Root({ done: Annotation({ reducer: (all, more) => [...all, ...more], default: () => [] }) }))
  .addNode("plan", step("plan"))
  .addNode("book", step("book"))
  .addNode("confirm", step("confirm"))
  .addEdge("__start__", "plan")
  .addEdge("plan", "book")
  .addEdge("book", "confirm")
  .compile({ checkpointer: saver });

const config = { configurable: { thread_id: thread } };
const result = await saver.claimThread(thread, { ttlMs: 3_000, waitMs: 60_000 }, async (signal) => {
  const hasBegun = (await saver.getTuple(config)) !== undefined;
  // null continues the thread where it stopped. "sync": a step is stored before the next one begins.
  return graph.invoke(hasBegun ? null : { done: [] }, { ...config, signal, durability: "sync" });
});
console.log(result.ok ? `${worker}: finished: ${result.value.done.join(", ")}` : `${worker}: ${result.heldBy} has this thread`);
await holdfast.close();
