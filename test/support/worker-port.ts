import { writeSync } from "node:fs";
import { createInterface } from "node:readline";

/** The child's end of `spawnWorker`: lines of JSON in, lines of JSON out. */
export interface WorkerPort {
  /** The next line from the test; never resolves after the test has closed the pipe, because the process ends then. */
  next<T>(): Promise<T>;
  /** Written before it returns, so that a line that was sent survives a kill. */
  send(message: unknown): void;
}

export function openWorkerPort(): WorkerPort {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  return {
    next: async () => {
      const line = await lines.next();
      // A worker without its test has nobody to work for.
      if (line.done) process.exit(0);
      return JSON.parse(line.value);
    },
    send: (message) => {
      // Not process.stdout: when the reader is slow, it queues in this process, and a kill loses the queue.
      let rest = Buffer.from(`${JSON.stringify(message)}\n`);
      while (rest.length > 0) rest = rest.subarray(writeSync(1, rest));
    },
  };
}
