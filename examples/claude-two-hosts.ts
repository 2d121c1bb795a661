// Runs one turn of a Claude session that any host can continue. Start it on two machines with the same server:
//   node claude-two-hosts.ts http://holdfast:8000 "Find the flaky test."            prints the session's id
//   node claude-two-hosts.ts http://holdfast:8000 "Now fix it." SESSION-ID          continues it, on either machine
import { foldSessionSummary, query } from "@anthropic-ai/claude-agent-sdk";
import { HoldfastSessionStore } from "holdfast/claude";
import { connectHoldfast } from "holdfast/client";

const [url = "http://127.0.0.1:8000", prompt = "Say hello.", resume] = process.argv.slice(2);
const stop = new AbortController();
const holdfast = await connectHoldfast(url, { token: process.env.HOLDFAST_TOKEN });
const store = new HoldfastSessionStore(holdfast, {
  foldSessionSummary,
  // This process was suspended or cut off for so long that another host continued the session. What it does now would not be stored.
  onLost: ({ heldBy }) => stop.abort(new Error(`The session was taken over by ${heldBy}.`)),
});
try {
  for await (const message of query({ prompt, options: { sessionStore: store, resume, abortController: stop } })) {
    if (message.type === "result") console.log(`${message.subtype}: session ${message.session_id}`);
    if (message.type === "system" && message.subtype === "mirror_error") console.error(`not stored yet: ${message.error}`);
  }
} catch (error) {
  // Above all: the session is in use by another host, whose name is in the message.
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  // Stores what is not stored yet, and lets the other host continue at once.
  await store.close();
  await holdfast.close();
}
