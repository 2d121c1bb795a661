import { openHoldfast } from "../../src/index.ts";
import { openWorkerPort } from "../support/worker-port.ts";

/** A short script of a user: writes to a store and comes to its end, with the store left open or closed, or after one change that it watched for. */
const port = openWorkerPort();
const { url, way } = await port.next<{ url: string; way: "leave" | "close" | "watch" }>();
// The test holds the other end of the pipe: that must not be what keeps this process.
process.stdin.unref();
const holdfast = await openHoldfast({ store: url });
if (way === "watch") {
  port.send({ done: "watching" });
  for await (const _ of holdfast.state.watch({ key: "watched", after: 0 })) break;
} else await holdfast.state.set("k", 1);
if (way === "close") await holdfast.close();
port.send({ done: way });
