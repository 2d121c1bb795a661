import { openWorkerPort } from "../support/worker-port.ts";

/** Says back what it is told; the word "fail" ends it with an error. For the tests of the test kit itself. */
const port = openWorkerPort();
for (;;) {
  const message = await port.next<string>();
  if (message === "fail") throw new Error("told to fail");
  port.send({ said: message, node: process.version, atMs: Date.now() });
}
